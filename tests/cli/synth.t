The same seed gives the same bytes on every machine.

  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe gather --target gaudi2 --seed 7 -o a.safetensors
  a.safetensors: written under recipe gather
    option         target gaudi2, recipe gather
    inferred       weights_stage checkpoint, top_k 2, num_experts 8, local_num_experts 8
    default        op moe, ep_rank 0, renormalize true, scoring_func softmax, n_group 1, topk_group 1,
                   routed_scaling_factor 1, replicate_expert false, weight_block_size 128x128
    hidden_states            [3, 200] BF16                sha256 3945b027980fa033...
    router_logits            [3, 8] BF16                  sha256 fc97fc9acdab053c...
    w13_weight               [8, 272, 200] F8_E4M3        sha256 ec9c2a3953321dae...
    w13_weight_scale_inv     [8, 4, 2] F32                sha256 890e8a51d6bfdd2c...
    w2_weight                [8, 200, 136] F8_E4M3        sha256 766e857c8a3abae1...
    w2_weight_scale_inv      [8, 2, 2] F32                sha256 37cc9c7895047c8a...
    topk_ids                 [3, 2] I64                   sha256 a2f40f5f1486be0c...
    topk_weights             [3, 2] F32                   sha256 c387e73ac4711c1d...
    output                   [3, 200] BF16                sha256 8499e81f23152748...
  $ sha256sum a.safetensors
  7f61ec81a649466cdf27052e6022061e75915762fbdc4315f34340448480a809  a.safetensors
  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe gather --target gaudi2 --seed 7 --threads 1 -o b.safetensors > /dev/null; cmp a.safetensors b.safetensors
  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe gather --target gaudi2 --seed 8 -o c.safetensors > /dev/null; cmp -s a.safetensors c.safetensors
  [1]

Under every recipe the layer verifies as itself, at every stage it can have.

  $ for recipe in gather stock stock-hp stock-eager dense dequant bf16 static-moe exact; do fp8moe synth --shape T=2,E=4,K=2,H=160,I=48 --recipe $recipe --target gaudi2 -o s.safetensors > /dev/null && fp8moe verify s.safetensors | head -n 1; done
  same: output is the same as recipe gather (evidence: source): every row is identical
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  same: output is the same as recipe stock-hp (evidence: assumed): every row is identical
  same: output is the same as recipe stock-eager (evidence: source): every row is identical
  same: output is the same as recipe dense (evidence: source): every row is identical
  same: output is the same as recipe dequant (evidence: fixture): every row is identical
  same: output is the same as recipe bf16 (evidence: fixture): every row is identical
  same: output is the same as recipe static-moe (evidence: measured): every row is identical
  same: output is the same as recipe exact (evidence: definition): every row is identical
  $ for stage in checkpoint loaded prepared; do fp8moe synth --shape T=2,E=4,K=2,H=160,I=48 --recipe stock --target gaudi2 --weights-stage $stage -o $stage.safetensors > /dev/null && fp8moe verify $stage.safetensors | head -n 1; done
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  same: output is the same as recipe stock (evidence: inferred): every row is identical

A loaded layer is the same layer as the one of the checkpoint.

  $ fp8moe compare checkpoint.safetensors:output loaded.safetensors:output | head -n 1
  same: output is the same as the reference
  $ fp8moe compare checkpoint.safetensors:w13_weight loaded.safetensors:w13_weight | head -n 1 | cut -c 1-42
  different: w13_weight differs from the ref

Another order of f32 sums moves few elements.

  $ fp8moe synth --shape T=64,E=4,K=2,H=512,I=256 --recipe gather --target ocp --noise 3 -o n.safetensors > /dev/null
  $ fp8moe verify n.safetensors | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical or within the
  $ fp8moe synth --shape T=64,E=4,K=2,H=512,I=256 --recipe gather --target ocp -o still.safetensors > /dev/null
  $ fp8moe compare still.safetensors:output n.safetensors | grep identical
      identical      32757 of 32768 elements (99.9664 %); 11 differ, 0 far; 0 are zero on both sides

Real checkpoints by name; what is not said is one token.

  $ fp8moe synth qwen3-30b-a3b --shape E=8 --recipe gather --target gaudi2 -o m.safetensors | grep -e weight -e states
    inferred       weights_stage checkpoint, top_k 8, num_experts 8, local_num_experts 8
                   routed_scaling_factor 1, replicate_expert false, weight_block_size 128x128
    hidden_states            [1, 2048] BF16               sha256 e8361307b375fd60...
    w13_weight               [8, 1536, 2048] F8_E4M3      sha256 e752ad81bba5d3ee...
    w13_weight_scale_inv     [8, 12, 16] F32              sha256 08d5378df56b6cbc...
    w2_weight                [8, 2048, 768] F8_E4M3       sha256 4e3d60a5a3fb920d...
    w2_weight_scale_inv      [8, 16, 6] F32               sha256 c6f2164e87c5099b...
    topk_weights             [1, 8] F32                   sha256 0743abef3c7adfb6...
  $ fp8moe synth minimax-m2 --shape E=16,H=512,I=64 --recipe stock --target gaudi3 -o m.safetensors | grep -e inferred -e bias
    inferred       weights_stage checkpoint, top_k 8, num_experts 16, local_num_experts 16,
    e_score_correction_bias  [16] BF16                    sha256 3a7843a616e83acc...
  $ fp8moe verify m.safetensors | head -n 1
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  $ fp8moe synth qwen3-30b --recipe gather --target gaudi2 -o m.safetensors
  fp8moe: there is no model 'qwen3-30b'; known are Qwen3-30B-A3B, Qwen3-235B-A22B, Qwen3-Coder-480B-A35B, Qwen3-Next-80B-A3B, Qwen3.5-35B-A3B, Qwen3.5-122B-A10B, Qwen3.5-397B-A17B, Qwen3.8-Flash-Next, DeepSeek-V3, Kimi-K2, GLM-4.5, GLM-4.5-Air, MiniMax-M2, Llama-4-Scout, Llama-4-Maverick, Mixtral-8x7B, Mixtral-8x22B
  [2]

What is missing or cannot be is said.

  $ fp8moe synth --recipe gather --target gaudi2 -o m.safetensors
  fp8moe: synth needs --shape T=..,E=..,K=..,H=..,I=.. or the name of a model
  [2]
  $ fp8moe synth --shape T=1,E=2 --recipe gather --target gaudi2 -o m.safetensors
  fp8moe: synth needs --shape T=..,E=..,K=..,H=..,I=.. or the name of a model
  [2]
  $ fp8moe synth --shape T=1,E=2,K=3,H=4,I=4 --recipe gather --target gaudi2 -o m.safetensors
  fp8moe: K 3 of E 2: a token cannot have more experts than there are
  [2]
  $ fp8moe synth --shape T=1,E=2,K=3,H=4,X=4 --recipe gather --target gaudi2 -o m.safetensors
  fp8moe: --shape 'T=1,E=2,K=3,H=4,X=4': expected T=..,E=..,K=..,H=..,I=.., each at least 1
  [2]
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --target gaudi2 -o m.safetensors
  fp8moe: synth needs --recipe NAME ('fp8moe recipes' lists them)
  [2]
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather -o m.safetensors
  fp8moe: recipe gather needs a target: which device computed this? gaudi2, gaudi3 or ocp; not given so far: --target (one of gaudi2, gaudi3, ocp)
  [2]
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe w8a16-linear --target ocp -o m.safetensors
  fp8moe: recipe w8a16-linear is for a linear; synth makes a mixture of experts
  [2]
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather --target ocp --seed -1 -o m.safetensors
  fp8moe: --seed '-1': expected a whole number
  [2]
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather --target ocp
  fp8moe: synth needs -o OUT.safetensors
  [2]
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather --target ocp -o m.safetensors --format json > synth.json
  $ validate synth.json
  synth.json: fp8moe.synth/1: valid

Prepared scales are bf16 numbers, as preparation computes them.

  $ fp8moe inspect prepared.safetensors --tensor w13_weight_scale_inv | tail -n 1
    values         amax 0.003890991, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
