Names people use: the op's own argument names, with and without _weight, _scale or _scale_inv.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ edit_dump a.safetensors b.safetensors rename:hidden_states=x rename:topk_ids=expert_routing_table rename:topk_weights=router_weights rename:w13_weight=w12 rename:w13_weight_scale_inv=d_scale_w12 rename:w2_weight=w3 rename:w2_weight_scale_inv=d_scale_w3 rename:output=out0
  $ fp8moe verify b.safetensors | head -n 1
  same: out0 is the same as recipe gather (evidence: source): every row is identical
  $ edit_dump a.safetensors b.safetensors rename:w13_weight=w13 rename:w13_weight_scale_inv=w13_scale rename:w2_weight_scale_inv=w2_scale_inv rename:hidden_states=input
  $ fp8moe verify b.safetensors | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical

Two names for one field are an error; --name chooses, and the other is not used.

  $ edit_dump a.safetensors c.safetensors copy:hidden_states=x
  $ fp8moe verify c.safetensors
  fp8moe: c.safetensors: 'hidden_states' and 'x' both mean hidden_states: choose one with --name hidden_states=NAME
  [2]
  $ fp8moe verify c.safetensors --name hidden_states=x | grep -e same: -e used
  same: output is the same as recipe gather (evidence: source): every row is identical
    note           not used: hidden_states
  $ fp8moe verify c.safetensors --name hidden_states=nothing
  fp8moe: c.safetensors: --name hidden_states=nothing: there is no tensor 'nothing'
  [3]
  $ fp8moe verify c.safetensors --name x=x --name hidden_states=hidden_states
  fp8moe: --name gives hidden_states twice
  [2]
  $ edit_dump a.safetensors d.safetensors rename:output=model.layers.0.mlp.out
  $ fp8moe verify d.safetensors --name output=model.layers.0.mlp.out | head -n 1
  same: model.layers.0.mlp.out is the same as recipe gather (evidence: source): every row is identical

w3 is the op's down projection or a checkpoint's up projection: its shape must tell.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=64 --recipe gather --target gaudi2 -o square.safetensors > /dev/null
  $ edit_dump square.safetensors e.safetensors rename:w2_weight=w3 rename:w2_weight_scale_inv=d_scale_w3
  $ fp8moe verify e.safetensors
  fp8moe: e.safetensors: w3 [4, 64, 64] is square: the op's down projection or a checkpoint's up projection? If it is the former, say --name w2_weight=w3
  [2]
  $ fp8moe verify e.safetensors --name w2_weight=w3 | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ edit_dump a.safetensors f.safetensors rename:w2_weight=w3 shape:w3=4x32x64
  $ fp8moe verify f.safetensors
  fp8moe: f.safetensors: w3 [4, 32, 64] is no down projection [64, I]; is it a checkpoint's up projection? A dump needs gate and up in one w13
  [2]

A tensor of no known name is said to be unused; weights of both ops need --op.

  $ edit_dump a.safetensors g.safetensors copy:hidden_states=hiden_states
  $ fp8moe verify g.safetensors | grep used
    note           not used: hiden_states
  $ edit_dump a.safetensors h.safetensors copy:w2_weight=weight
  $ fp8moe verify h.safetensors
  same: output is the same as recipe gather (evidence: source): every row is identical
  
  h.safetensors: same
    metadata       op moe, target gaudi2, recipe gather, weights_stage checkpoint, top_k 2,
                   num_experts 4, local_num_experts 4, ep_rank 0, renormalize true, scoring_func
                   softmax, n_group 1, topk_group 1, routed_scaling_factor 1, replicate_expert false,
                   weight_block_size 128x128
    target         gaudi2: captures of static paths; slack measured about 1 (dots) and 1 to 2 % (silu)
    output [3, 64] BF16: same
      recipe         gather, chosen by metadata; evidence: source, its source (v0.30.0); device
                     operations assumed
      open           tf32 down matmul; three-bf16 down matmul; bf16 down matmul; f32 input cast; bf16
                     combined scale; scales one after the other; two-step silu
      elements       192 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 0 non-finite on
                     one side; 0 padding
      rows           3 judged, 0 equal to an earlier one; 3 identical, 0 explained, 0 by noise
      statistics     energy 0.00184, noise gives at most 0.00258
                     gain 0.000451, noise gives at most 0.00184
                     row energy 0.00185, noise gives at most 0.00254
                     column energy 0.0043, noise gives at most 0.0067
                     expert 0.000801, noise gives at most 0.00327
      would see      gain errors from -0.1 % and +0.1 %; weakest expert dropped: seen, replaced: seen;
                     gate and up exchanged: seen; one row scale 1 % off: seen
      assumed        dots within 16 * 2^-24 * sum|a b|, silu within 1 step in 12.5 % of its values
      identical      192 of 192 elements (100.0000 %); 0 differ, 0 far; 0 are zero on both sides
      distance       rel-L2 0, cosine 1.000000, gain 1.00000, calc_diff 0, max abs 0, max rel 0
      FP8 steps      row grid: mean 0, median 0, p99 0, p99.9 0, largest 0
      bf16 steps     mean 0, median 0, p99 0, p99.9 0, largest 0
      upstream       0 FP8-ULP keeps the bar of 2, 0 relative keeps that of 0.05; 0 % of the elements
                     lie below 2^-10, where that measure sees nothing
      other bars     upstream, 2 FP8 steps: pass; assert_close 1e-3, 1e-3: pass; calc_diff < 1e-3:
                     pass; 85 % within 0.1 + 0.2 x: pass
    stages         x_codes sha256 5ed5449f5bb7bcd7...
                   x_scale sha256 9d5ca35907f2ac85...
                   topk_ids sha256 a131c482ca1707c2...
                   topk_weights sha256 c2efd714f9bdde90...
                   up_gate sha256 8cad62d7f84f2d09...
                   activation sha256 bd35715b9ffdffae...
                   expert_output sha256 4d8bfbe3c54ce36a...
                   output sha256 230f506557cf30bb...
  $ fp8moe verify h.safetensors --op moe | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ edit_dump a.safetensors h.safetensors copy:w2_weight=weight unmeta:op
  $ fp8moe verify h.safetensors
  fp8moe: h.safetensors: w13 or w2 and 'weight' stand side by side: say --op moe or --op linear
  [2]

Bytes that a file cannot name are read with --as.

  $ edit_dump a.safetensors i.safetensors dtype:w13_weight=U8 dtype:output=U16
  $ fp8moe verify i.safetensors
  fp8moe: i.safetensors: tensor 'w13_weight': dtype U8; if these are the bits of another type, say which (--as w13_weight=e4m3fn)
  [3]
  $ fp8moe verify i.safetensors --as w13_weight=e4m3fn --as output=bf16 | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ fp8moe verify i.safetensors --as nothing=bf16
  fp8moe: i.safetensors: --as nothing=bf16: there is no such tensor
  [3]
  $ fp8moe verify i.safetensors --as hidden_states=e4m3fn
  fp8moe: i.safetensors: tensor 'hidden_states': BF16 cannot be read as F8_E4M3: only 8- and 16-bit integers and untyped bytes can, as a type of the same width (byte 1176)
  [3]

Bits of another type, stored as integers, are not taken for numbers.

  $ edit_dump a.safetensors u.safetensors dtype:output=U16; fp8moe verify u.safetensors
  fp8moe: u.safetensors: tensor 'output': dtype U16; if these are the bits of another type, say which (--as output=bf16)
  [3]
  $ edit_dump a.safetensors u.safetensors dtype:hidden_states=I16 dtype:output=U16 dtype:w13_weight=U8; fp8moe verify u.safetensors --as hidden_states=bf16 --as output=bf16
  fp8moe: u.safetensors: tensor 'w13_weight': dtype U8; if these are the bits of another type, say which (--as w13_weight=e4m3fn)
  [3]
  $ fp8moe verify u.safetensors --as hidden_states=bf16 --as output=bf16 --as w13_weight=e4m3fn | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
