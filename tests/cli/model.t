What a model folder holds: its layers with experts, from the index and the shards' headers alone.

  $ make_checkpoint small && fp8moe inspect small
  small: made, 52 tensors in 2 shards
  config         hidden_size 256, intermediate_size 128, experts 8, top_k 8, norm_topk_prob true,
                 hidden_act silu
  quantised      fp8, format e4m3, blocks of 64 x 64, activations dynamic
  layer 3, model.layers.3.mlp.: 8 experts, I = 128, H = 256
    names          gate_proj, up_proj, down_proj
    scales         blocks of 64 x 64
    gate           [128, 256] F8_E4M3, scale [2, 4] F32
    down           [256, 128] F8_E4M3, scale [4, 2] F32
    router         [8, 256] BF16
    tp_size        1, 2 keep scale blocks whole
    left out       shared_expert, shared_expert_gate
  $ make_checkpoint minimax minimax && fp8moe inspect minimax | tail -n +4
  quantised      fp8, format e4m3, blocks of 64 x 64, activations dynamic
  layer 5, model.layers.5.block_sparse_moe.: 8 experts, I = 128, H = 256
    names          w1, w3, w2
    scales         blocks of 64 x 64
    gate           [128, 256] F8_E4M3, scale [2, 4] BF16
    down           [256, 128] F8_E4M3, scale [4, 2] BF16
    router         [8, 256] BF16
    bias           [8] F32
    tp_size        1, 2 keep scale blocks whole
  $ make_checkpoint fused fused && fp8moe inspect fused | tail -n +4
  quantised      fp8, format e4m3, blocks of 64 x 64, activations dynamic
  layer 0, model.language_model.layers.0.mlp.: 8 experts, I = 128, H = 256
    names          fused gate_up_proj, down_proj
    scales         blocks of 64 x 64
    gate           [128, 256] F8_E4M3, scale [2, 4] F32
    down           [256, 128] F8_E4M3, scale [4, 2] F32
    router         [8, 256] BF16
    tp_size        1, 2 keep scale blocks whole
  $ make_checkpoint channel channel && fp8moe inspect channel --layer 1 | tail -n +4
  quantised      fp8, format e4m3, activations dynamic
  layer 1, model.layers.1.mlp.: 8 experts, I = 128, H = 256
    names          gate_proj, up_proj, down_proj
    scales         one a row
    gate           [128, 256] F8_E4M3, scale [128, 1] BF16
    down           [256, 128] F8_E4M3, scale [256, 1] BF16
    router         [8, 256] BF16
  $ make_checkpoint static static && fp8moe inspect static | tail -n +4
  quantised      fp8, format e4m3, activations static
  layer 0, model.layers.0.block_sparse_moe.: 8 experts, I = 128, H = 256
    names          w1, w3, w2
    scales         one a matrix; static input scales
    gate           [128, 256] F8_E4M3, scale [] F32
    down           [256, 128] F8_E4M3, scale [] F32
    router         [8, 256] BF16

Layers that look alike are said once; a draft layer beside them, and one that is not emulated, apart.

  $ cp -r small many; edit_index many again:layers.3.=layers.4. add:mtp.layers.0.mlp.experts.0.weight_packed=model-00001-of-00002.safetensors
  $ fp8moe inspect many
  many: made, 105 tensors in 2 shards
  config         hidden_size 256, intermediate_size 128, experts 8, top_k 8, norm_topk_prob true,
                 hidden_act silu
  quantised      fp8, format e4m3, blocks of 64 x 64, activations dynamic
  layer 3, model.layers.3.mlp.: 8 experts, I = 128, H = 256
    names          gate_proj, up_proj, down_proj
    scales         blocks of 64 x 64
    gate           [128, 256] F8_E4M3, scale [2, 4] F32
    down           [256, 128] F8_E4M3, scale [4, 2] F32
    router         [8, 256] BF16
    tp_size        1, 2 keep scale blocks whole
    left out       shared_expert, shared_expert_gate
  layer 4, model.layers.4.mlp.
    names          gate_proj, up_proj, down_proj
    not read       many/model-00001-of-00002.safetensors: tensor
                   'model.layers.4.mlp.experts.0.gate_proj.weight': not in
                   model-00001-of-00002.safetensors, although the index says so
    left out       shared_expert, shared_expert_gate
  layer 0, mtp.layers.0.mlp.
    names          of no known kind
    not read       many: the experts of mtp.layers.0.mlp. have names of no known kind: known are
                   gate_proj/up_proj/down_proj, w1/w3/w2, gate_up_proj/down_proj and
                   w13_weight/w2_weight
  [3]
  $ fp8moe inspect many --layer 0
  many: made, 105 tensors in 2 shards
  config         hidden_size 256, intermediate_size 128, experts 8, top_k 8, norm_topk_prob true,
                 hidden_act silu
  quantised      fp8, format e4m3, blocks of 64 x 64, activations dynamic
  layer 0, mtp.layers.0.mlp.
    names          of no known kind
    not read       many: the experts of mtp.layers.0.mlp. have names of no known kind: known are
                   gate_proj/up_proj/down_proj, w1/w3/w2, gate_up_proj/down_proj and
                   w13_weight/w2_weight
  $ fp8moe inspect many --layer 9
  fp8moe: many: layer 9 has no experts; there are 3 layers with experts, from 0 to 4
  [3]
  $ fp8moe inspect many --layer x
  fp8moe: --layer 'x': expected the number of a layer
  [2]

As JSON, each layer by itself.

  $ for kind in small minimax fused channel static; do fp8moe inspect $kind --format json -o $kind.json && validate $kind.json; done
  small.json: fp8moe.model/1: valid
  minimax.json: fp8moe.model/1: valid
  fused.json: fp8moe.model/1: valid
  channel.json: fp8moe.model/1: valid
  static.json: fp8moe.model/1: valid
  $ fp8moe inspect many --format json -o many.json
  [3]
  $ validate many.json; query many.json layers.count layers.1.prefix layers.2.problem layers.2.naming
  many.json: fp8moe.model/1: valid
  3
  model.layers.4.mlp.
  many: the experts of mtp.layers.0.mlp. have names of no known kind: known are gate_proj/up_proj/down_proj, w1/w3/w2, gate_up_proj/down_proj and w13_weight/w2_weight
  null

What is not there, or leads elsewhere, is said with its file.

  $ fp8moe inspect small --tensor w
  fp8moe: --tensor reads a file: name the shard instead of the folder
  [2]
  $ mkdir none; fp8moe inspect none
  fp8moe: none: holds neither model.safetensors.index.json nor model.safetensors: is this a model folder?
  [3]
  $ rm many/model-00002-of-00002.safetensors; fp8moe inspect many --layer 3 | tail -n +5
  layer 3, model.layers.3.mlp.
    names          gate_proj, up_proj, down_proj
    not read       many/model-00002-of-00002.safetensors: tensor
                   'model.layers.3.mlp.experts.0.gate_proj.weight_scale_inv': there is no such file in
                   the model folder
    left out       shared_expert, shared_expert_gate
  $ ln -s ../small/model-00001-of-00002.safetensors many/model-00002-of-00002.safetensors; fp8moe inspect many --layer 3 | tail -n +7
    not read       many/model-00002-of-00002.safetensors: tensor
                   'model.layers.3.mlp.experts.0.gate_proj.weight_scale_inv': a symbolic link leads
                   out of the model folder
    left out       shared_expert, shared_expert_gate
  $ edit_index many file:model-00001=../small/model-00001; fp8moe inspect many --layer 3 | tail -n +7
    not read       many: tensor 'model.layers.3.mlp.experts.0.gate_proj.weight': the path
                   "../small/model-00001-of-00002.safetensors" leaves the model folder
    left out       shared_expert, shared_expert_gate
  $ mkdir broken; echo '{"weight_map": {"a": 1}}' > broken/model.safetensors.index.json; fp8moe inspect broken
  fp8moe: broken/model.safetensors.index.json: weight_map must name a file for every tensor, this one is a whole number (byte 21)
  [3]
  $ echo '{"num_experts": "many"}' > small/config.json; fp8moe inspect small
  fp8moe: small/config.json: num_experts must be a whole number of at least 0, is a string (byte 16)
  [3]

A folder of the hub's cache, whose files are links to its blobs.

  $ mkdir -p models--o--n/blobs models--o--n/snapshots/abc; for f in minimax/*; do b=$(sha256sum $f | cut -c1-12); cp $f models--o--n/blobs/$b; ln -s ../../blobs/$b models--o--n/snapshots/abc/${f#*/}; done
  $ fp8moe inspect models--o--n/snapshots/abc | head -n 1
  models--o--n/snapshots/abc: made, 50 tensors in 3 shards
