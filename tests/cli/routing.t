What the router and the scale grid are set to reaches the layer.

  $ made="synth --shape T=8,E=16,K=4,H=64,I=32 --recipe gather --target gaudi2"; echo "$made" > made
  $ fp8moe $(cat made) -o a.safetensors > /dev/null
  $ fp8moe $(cat made) --routed-scaling-factor 2.5 -o b.safetensors > /dev/null
  $ fp8moe compare a.safetensors:topk_weights b.safetensors --format json -o report.json; query report.json dumps.0.tensors.0.metrics.gain
  2.5012257957146864
  $ edit_dump b.safetensors c.safetensors drop:topk_ids drop:topk_weights
  $ fp8moe verify c.safetensors | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ fp8moe verify c.safetensors --routed-scaling-factor 1 -o report.txt
  [1]

Sigmoid scores, groups and a bias that chooses; without the bias other experts are chosen.

  $ fp8moe synth DeepSeek-V3 --shape T=8,E=32,K=4,H=64,I=32 --recipe gather --target gaudi3 -o d.safetensors | grep -e inferred -e n_group -e bias
    inferred       weights_stage checkpoint, top_k 4, num_experts 32, local_num_experts 32,
                   scoring_func sigmoid, n_group 8, topk_group 4, routed_scaling_factor 2.5
    e_score_correction_bias  [32] BF16                    sha256 9a8853f0aeca4ea3...
  $ edit_dump d.safetensors e.safetensors drop:topk_ids drop:topk_weights
  $ fp8moe verify e.safetensors | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ edit_dump e.safetensors f.safetensors drop:e_score_correction_bias
  $ fp8moe verify f.safetensors -o report.txt
  [1]
  $ fp8moe verify e.safetensors --topk-group 8 -o report.txt
  [1]
  $ fp8moe verify e.safetensors --scoring-func softmax -o report.txt
  [1]

Blocks need not be 128 x 128.

  $ fp8moe $(cat made) --weight-block-size 16x24 -o g.safetensors | grep -o 'scale_inv.*F32'
  scale_inv     [16, 4, 3] F32
  scale_inv      [16, 4, 2] F32
  $ fp8moe verify g.safetensors | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ fp8moe verify g.safetensors --weight-block-size 128x128
  fp8moe: g.safetensors: tensor 'w13_weight': scale [4, 3] fits no layout of a [64, 64] weight: one number, [64], [64, 1], or [1, 1] blocks of 128 x 128
  [3]
