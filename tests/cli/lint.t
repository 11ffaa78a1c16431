What is odd about a dump, before anything is multiplied.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi3 -o a.safetensors > /dev/null
  $ fp8moe lint a.safetensors
  a.safetensors: 0 findings
  $ fp8moe lint a.safetensors --format json -o lint.json; validate lint.json; query lint.json layers.0.findings
  lint.json: fp8moe.lint/1: valid
  []
  $ fp8moe lint missing.safetensors
  fp8moe: missing.safetensors: cannot open: no such file or folder (errno 2)
  [3]

Codes: what another device cannot hold, NaN, dead and equal experts.

  $ fp8moe lint a.safetensors --target gaudi2
  a.safetensors: 2 findings
    beyond-240     w13_weight: 10 codes from 0x78 on: 256 to 448 here, Inf or NaN on a Gaudi2 unless
                   its loader halved them, the first at [0, 9, 57]
    beyond-240     w2_weight: 7 codes from 0x78 on: 256 to 448 here, Inf or NaN on a Gaudi2 unless its
                   loader halved them, the first at [0, 59, 7]
  [1]
  $ edit_dump a.safetensors b.safetensors 'set:w13_weight[4100]=7fff'; fp8moe lint b.safetensors
  b.safetensors: 1 finding
    nan-code       w13_weight: 2 codes are NaN (0x7F, 0xFF), the first at [1, 0, 4]
  [1]
  $ edit_dump a.safetensors b.safetensors 'fill:w2_weight[2048:4096]=0080'; fp8moe lint b.safetensors
  b.safetensors: 1 finding
    dead-expert    w2_weight: expert 1: every code is 0
  [1]
  $ edit_dump a.safetensors b.safetensors 'fill:w13_weight[4096:8192]=38' 'fill:w13_weight[12288:16384]=38'; fp8moe lint b.safetensors
  b.safetensors: 1 finding
    equal-experts  w13_weight: expert 3 has the codes of expert 1
  [1]

The NaN of an expert that no token is routed to, which the gathered path may still read; ids are the model's, not the rank's.

  $ edit_dump a.safetensors b.safetensors 'set:w13_weight[12300]=7f' 'fill:topk_ids[0:48]=00000000000000000100000000000000'; fp8moe lint b.safetensors
  b.safetensors: 2 findings
    nan-code       w13_weight: 1 codes are NaN (0x7F, 0xFF), the first at [3, 0, 12]
    poison         w13_weight: expert 3 holds NaN and no token is routed to it: where the gathered
                   path reads it as padding, 0 * NaN reaches every token
  [1]
  $ edit_dump a.safetensors b.safetensors 'set:w13_weight[12300]=7f' 'fill:topk_ids[0:48]=03000000000000000100000000000000'; split_ranks b.safetensors 2; fp8moe lint rank0.safetensors rank1.safetensors
  rank0.safetensors: 0 findings
  rank1.safetensors: 1 finding
    nan-code       w13_weight: 1 codes are NaN (0x7F, 0xFF), the first at [1, 0, 12]
  [1]
  $ edit_dump b.safetensors b.safetensors 'fill:topk_ids[0:48]=00000000000000000100000000000000'; split_ranks b.safetensors 2; fp8moe lint rank0.safetensors rank1.safetensors
  rank0.safetensors: 0 findings
  rank1.safetensors: 2 findings
    nan-code       w13_weight: 1 codes are NaN (0x7F, 0xFF), the first at [1, 0, 12]
    poison         w13_weight: expert 1 holds NaN and no token is routed to it: where the gathered
                   path reads it as padding, 0 * NaN reaches every token
  [1]

Scales: not finite, negative, zero, denormal; their grid.

  $ edit_dump a.safetensors b.safetensors 'set:w13_weight_scale_inv[0]=0000c07f000080bf00000000' 'set:w2_weight_scale_inv[4]=00004000'; fp8moe lint b.safetensors
  b.safetensors: 4 findings
    scale-not-finite w13_weight_scale: 1 scales are NaN or Inf, the first at [0, 0, 0]
    scale-negative w13_weight_scale: 1 scales are negative, the first at [0, 1, 0]
    scale-zero     w13_weight_scale: 1 scales are 0, the first at [1, 0, 0]
    scale-denormal w2_weight_scale: 1 scales are denormal: a device that flushes them reads 0, the
                   first at [1, 0, 0]
  [1]
  $ edit_dump a.safetensors b.safetensors shape:w2_weight_scale_inv=2x2; fp8moe lint b.safetensors
  b.safetensors: 1 finding
    does-not-fit   tensor: w2_weight: scale [2, 2]: expected 4 experts in its first dimension
  [1]

Token rows: padding, equal ones, not finite ones; a block whose codes use the lower end of the numbers only.

  $ edit_dump a.safetensors b.safetensors 'fill:hidden_states[0:128]=803f' 'fill:hidden_states[128:256]=803f' 'fill:hidden_states[256:384]=0000'; fp8moe lint b.safetensors
  b.safetensors: 2 findings
    padding-row    hidden_states: 1 token rows are zero (bucket padding), the first at [2, 0]
    equal-row      hidden_states: 1 token rows equal an earlier one: they test nothing more, the first
                   at [1, 0]
  [1]
  $ edit_dump a.safetensors b.safetensors 'set:hidden_states[130]=807f'; fp8moe lint b.safetensors --format json -o lint.json; validate lint.json; query lint.json layers.0.findings.0
  lint.json: fp8moe.lint/1: valid
  {"rule": "not-finite", "tensor": "hidden_states", "count": 1, "text": "1 token rows hold NaN or Inf, the first at [1, 0]"}
  $ fp8moe synth --shape T=1,E=1,K=1,H=256,I=128 --recipe gather --target gaudi3 -o b.safetensors > /dev/null; python3 -c "print(*(f'fill:w13_weight[{r * 256}:{r * 256 + 128}]=30' for r in range(128)))" > weak; edit_dump b.safetensors b.safetensors $(cat weak); fp8moe lint b.safetensors
  b.safetensors: 1 finding
    weak-block     w13_weight: 1 blocks of 128 x 128 hold no code above 28: their scale wastes bits,
                   or belongs to another block; the first is block row 0, column 0
  [1]
