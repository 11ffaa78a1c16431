A made-up layer carries its settings as metadata, so verify needs no option.

  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe stock --target gaudi2 --seed 7 -o a.safetensors > /dev/null
  $ fp8moe verify a.safetensors
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  
  a.safetensors: same
    metadata       op moe, target gaudi2, recipe stock, weights_stage checkpoint, top_k 2, num_experts
                   8, local_num_experts 8, ep_rank 0, renormalize true, scoring_func softmax, n_group
                   1, topk_group 1, routed_scaling_factor 1, replicate_expert false, weight_block_size
                   128x128
    target         gaudi2: captures of static paths; slack measured about 1 (dots) and 1 to 2 % (silu)
    output [3, 200] BF16: same
      recipe         stock, chosen by metadata; evidence: inferred, inferred from the static capture,
                     the vendor's eager source and the op's signature
      open           intermediate kept in bf16; dots not rounded before the scale; bf16 combined
                     scale; scales one after the other; bf16 sum in expert order; f32 input cast; ids
                     index the local list
      elements       600 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 0 non-finite on
                     one side; 0 padding
      rows           3 judged, 0 equal to an earlier one; 3 identical, 0 explained, 0 by noise
      statistics     energy 0.00156, noise gives at most 0.0395
                     gain 9.65e-05, noise gives at most 0.0744
                     row energy 0.00154, noise gives at most 0.0377
                     column energy 0.0311, noise gives at most 0.213
                     expert 0.000754, noise gives at most 0.0289
      would see      gain errors from -1 % and +1 %; weakest expert dropped: seen, replaced: seen;
                     gate and up exchanged: seen; one row scale 1 % off: seen
      assumed        dots within 16 * 2^-24 * sum|a b|, silu within 1 step in 12.5 % of its values
      identical      600 of 600 elements (100.0000 %); 0 differ, 0 far; 0 are zero on both sides
      distance       rel-L2 0, cosine 1.000000, gain 1.00000, calc_diff 0, max abs 0, max rel 0
      FP8 steps      row grid: mean 0, median 0, p99 0, p99.9 0, largest 0
      bf16 steps     mean 0, median 0, p99 0, p99.9 0, largest 0
      upstream       0 FP8-ULP keeps the bar of 2, 0 relative keeps that of 0.05; 0 % of the elements
                     lie below 2^-10, where that measure sees nothing
      other bars     upstream, 2 FP8 steps: pass; assert_close 1e-3, 1e-3: pass; calc_diff < 1e-3:
                     pass; 85 % within 0.1 + 0.2 x: pass
    stages         x_codes sha256 e6a85358508f88b7...
                   x_scale sha256 5cabca514b7f9e54...
                   topk_ids sha256 a2f40f5f1486be0c...
                   topk_weights sha256 c387e73ac4711c1d...
                   up_gate sha256 fb9d787f9bcb8a5d...
                   activation sha256 7aa1876e779045da...
                   act_codes sha256 54da02b6cd3d4b93...
                   act_scale sha256 051a22c438d6f2e7...
                   expert_output sha256 961587a69f738788...
                   output sha256 3c2e63de1dec770d...

Another recipe than the one it was made under is a difference; the report stays within 100 columns.

  $ fp8moe verify a.safetensors --recipe gather > report.txt
  [1]
  $ head -n 3 report.txt
  different: output differs from recipe gather (evidence: source): 552 elements lie outside what any
  rounding of recipe gather gives, the first at token 0 column 0
  
  $ awk 'length > 100' report.txt

Auto names the best and lists the others.

  $ fp8moe verify a.safetensors --recipe auto --format json -o report.json
  $ query report.json verdict reason dumps.0.tensors.0.recipe dumps.0.tensors.0.recipe_source
  same
  output is the same as recipe stock (evidence: inferred): every row is identical
  stock
  auto
  $ query report.json dumps.0.tensors.0.candidates.0 dumps.0.tensors.0.candidates.8
  {"recipe": "stock", "unfit": null, "identical_share": 1, "beyond": 0}
  {"recipe": "static-moe", "unfit": "recipe static-moe takes one scale a tensor or a row, these are blocks"}
  $ validate report.json
  report.json: fp8moe.report/1: valid

What was assumed is printed, also where every order of additions is allowed.

  $ fp8moe verify a.safetensors --worst-case | grep assumed
      assumed        dots within (number of terms) * 2^-24 * sum|a b|, silu within 1 step in 12.5 % of
  $ fp8moe verify a.safetensors --worst-case --format json -o report.json; query report.json dumps.0.tensors.0.judgement.assumed
  {"dot_slack": 16, "worst_case": true, "silu_slack": 1, "silu_slack_rate": 0.125}
  $ validate report.json
  report.json: fp8moe.report/1: valid

JSON is the same byte for byte but for `timing`, whatever the threads and the instruction set.

  $ fp8moe verify a.safetensors --format json --threads 1 --isa portable | sed '/"timing"/,$d' > one.json
  $ fp8moe verify a.safetensors --format json --threads 3 | sed '/"timing"/,$d' > three.json
  $ test -s one.json && cmp one.json three.json

Several dumps: each is judged, the worst counts, the rest is still reported.

  $ fp8moe synth --shape T=2,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o b.safetensors > /dev/null
  $ fp8moe verify a.safetensors b.safetensors | grep -v '^  '
  same: a.safetensors: output is the same as recipe stock (evidence: inferred): every row is identical
  
  a.safetensors: same
  
  b.safetensors: same
  $ edit_dump b.safetensors c.safetensors copy:hidden_states=output
  $ fp8moe verify a.safetensors c.safetensors b.safetensors | grep -v '^  '
  different: c.safetensors: output differs from recipe gather (evidence: source): 128 elements lie
  outside what any rounding of recipe gather gives, the first at token 0 column 0
  
  a.safetensors: same
  
  c.safetensors: different
  
  b.safetensors: same
  $ fp8moe verify c.safetensors nothing.safetensors a.safetensors --format json > report.json
  fp8moe: nothing.safetensors: cannot open: no such file or folder (errno 2)
  [3]
  $ query report.json verdict dumps.0.verdict dumps.1.verdict dumps.1.reason dumps.2.verdict
  error
  different
  error
  cannot open: no such file or folder (errno 2)
  same
  $ validate report.json
  report.json: fp8moe.report/1: valid

An instruction set the processor lacks is a note; the metadata names the layer.

  $ { fp8moe verify b.safetensors --isa neon; fp8moe verify b.safetensors --isa avx2; } | grep -o -m 1 'on this processor: .*'
  on this processor: the next lower instruction set was used
  $ edit_dump b.safetensors d.safetensors meta:layer=model.layers.3
  $ fp8moe verify d.safetensors --format json > report.json; query report.json dumps.0.layer
  model.layers.3
