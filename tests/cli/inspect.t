What a file holds.

  $ fp8moe synth --shape T=2,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe inspect a.safetensors
  a.safetensors: safetensors, 9 tensors
    op = moe
    target = gaudi2
    recipe = gather
    weights_stage = checkpoint
    top_k = 2
    num_experts = 4
    local_num_experts = 4
    ep_rank = 0
    renormalize = true
    scoring_func = softmax
    n_group = 1
    topk_group = 1
    routed_scaling_factor = 1
    replicate_expert = false
    weight_block_size = 128x128
    generator = fp8moe 0.1.0 synth
    seed = 1
  hidden_states [2, 64] BF16
    values         amax 5.90625, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  router_logits [2, 4] BF16
    values         amax 3.109375, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  w13_weight [4, 64, 64] F8_E4M3
    values         amax 448, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
    exponents      0: 5, 1: 4, 2: 10, 3: 22, 4: 30, 5: 78, 6: 178, 7: 317, 8: 707, 9: 1220, 10: 2554,
                   11: 4303, 12: 5246, 13: 1628, 14: 72, 15: 10
    gaudi2         10 codes are not finite there (0x78 and above)
  w13_weight_scale_inv [4, 2, 1] F32
    values         amax 0.003749324, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  w2_weight [4, 64, 32] F8_E4M3
    values         amax 448, 0 NaN, 0 Inf, 1 zero, 0.01221 % below 2^-10
    exponents      0: 1, 1: 1, 2: 3, 3: 7, 4: 18, 5: 31, 6: 81, 7: 156, 8: 356, 9: 638, 10: 1202, 11:
                   2297, 12: 2585, 13: 791, 14: 18, 15: 7
    gaudi2         7 codes are not finite there (0x78 and above)
  w2_weight_scale_inv [4, 1, 1] F32
    values         amax 0.007782466, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  topk_ids [2, 2] I64
    values         amax 3, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  topk_weights [2, 2] F32
    values         amax 0.8554688, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  output [2, 64] BF16
    values         amax 4.3125, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  $ fp8moe inspect a.safetensors --tensor w2_weight --tensor topk_ids --format json > inspect.json
  $ query inspect.json tensors.count tensors.0.shape tensors.0.amax tensors.0.exponents tensors.0.not_finite_on_gaudi2 tensors.1.dtype metadata.recipe
  2
  [4, 64, 32]
  448
  [1, 1, 3, 7, 18, 31, 81, 156, 356, 638, 1202, 2297, 2585, 791, 18, 7]
  7
  I64
  gather
  $ validate inspect.json
  inspect.json: fp8moe.inspect/1: valid
  $ fp8moe inspect a.safetensors --tensor nothing
  fp8moe: a.safetensors: there is no tensor 'nothing'
  [3]
  $ edit_dump a.safetensors b.safetensors dtype:output=U16 'set:hidden_states[2]=c07f807f80ff'
  $ fp8moe inspect b.safetensors --tensor hidden_states --tensor output
  b.safetensors: safetensors, 9 tensors
    op = moe
    target = gaudi2
    recipe = gather
    weights_stage = checkpoint
    top_k = 2
    num_experts = 4
    local_num_experts = 4
    ep_rank = 0
    renormalize = true
    scoring_func = softmax
    n_group = 1
    topk_group = 1
    routed_scaling_factor = 1
    replicate_expert = false
    weight_block_size = 128x128
    generator = fp8moe 0.1.0 synth
    seed = 1
  hidden_states [2, 64] BF16
    values         amax 4.65625, 1 NaN, 2 Inf, 0 zero, 0 % below 2^-10
  output [2, 64] U16
    values         amax 49173, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10

What unscaled E4M3 reads as 0 ends below 2^-10: 2^-10 itself, and more, is not counted.

  $ edit_dump a.safetensors c.safetensors 'set:hidden_states[0]=7f3a803ac03a'
  $ fp8moe inspect c.safetensors --tensor hidden_states --format json > inspect.json; query inspect.json tensors.0.below_resolution
  0.0078125
