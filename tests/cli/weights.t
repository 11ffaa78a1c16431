Dumps of real layers hold no weights: those are in the model folder.

  $ make_checkpoint small; make_checkpoint minimax minimax; make_checkpoint fused fused; make_checkpoint channel channel; make_checkpoint static static
  $ fp8moe synth --shape T=4,E=8,K=2,H=256,I=128 --recipe gather --target gaudi2 -o s.safetensors > /dev/null
  $ edit_dump s.safetensors bare.safetensors drop:w13_weight drop:w13_weight_scale_inv drop:w2_weight drop:w2_weight_scale_inv drop:output unmeta:weight_block_size unmeta:local_num_experts unmeta:num_experts
  $ fp8moe verify bare.safetensors
  fp8moe: bare.safetensors: no w13_weight and w2_weight: --weights FOLDER --layer N takes them from a model folder
  [3]
  $ fp8moe run bare.safetensors --weights small -o out.safetensors
  out.safetensors: written under recipe gather
    metadata       op moe, target gaudi2, recipe gather, top_k 2, ep_rank 0, renormalize true,
                   scoring_func softmax, n_group 1, topk_group 1, routed_scaling_factor 1,
                   replicate_expert false
    model          weights_stage checkpoint, num_experts 8, local_num_experts 8, weight_block_size
                   64x64
    output                   [4, 256] BF16                sha256 140fabe50dcb1e7a...
  $ join_dumps bare.safetensors out.safetensors dump.safetensors output
  $ fp8moe verify dump.safetensors --weights small --layer 3 | grep -vE '^      |sha256'
  same: output is the same as recipe gather (evidence: source): every row is identical
  
  dump.safetensors: same
    metadata       op moe, target gaudi2, recipe gather, top_k 2, ep_rank 0, renormalize true,
    model          weights_stage checkpoint, num_experts 8, local_num_experts 8, weight_block_size
    target         gaudi2: captures of static paths; slack measured about 1 (dots) and 1 to 2 % (silu)
    output [4, 256] BF16: same
      recipe         gather, chosen by metadata; evidence: source, its source (v0.30.0); device
      open           tf32 down matmul; three-bf16 down matmul; bf16 down matmul; f32 input cast; bf16
      elements       1024 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 0 non-finite
      rows           4 judged, 0 equal to an earlier one; 4 identical, 0 explained, 0 by noise
      statistics     energy 0.00175, noise gives at most 0.0021
      would see      gain errors from -0.1 % and +0.1 %; weakest expert dropped: seen, replaced: seen;
      assumed        dots within 16 * 2^-24 * sum|a b|, silu within 1 step in 12.5 % of its values
      identical      1024 of 1024 elements (100.0000 %); 0 differ, 0 far; 0 are zero on both sides
      distance       rel-L2 0, cosine 1.000000, gain 1.00000, calc_diff 0, max abs 0, max rel 0
      FP8 steps      row grid: mean 0, median 0, p99 0, p99.9 0, largest 0
      bf16 steps     mean 0, median 0, p99 0, p99.9 0, largest 0
      upstream       0 FP8-ULP keeps the bar of 2, 0 relative keeps that of 0.05; 0.0977 % of the
      other bars     upstream, 2 FP8 steps: pass; assert_close 1e-3, 1e-3: pass; calc_diff < 1e-3:
    note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert,

The same bits as from a dump that holds the weights itself, here as the loader leaves them.

  $ fp8moe prepare --weights small --target gaudi2 --weights-stage loaded -o loaded.safetensors > /dev/null
  $ join_dumps dump.safetensors loaded.safetensors whole.safetensors w13_weight w13_weight_scale_inv w2_weight w2_weight_scale_inv
  $ fp8moe verify whole.safetensors --weights-stage loaded --weight-block-size 64x64 | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ fp8moe verify dump.safetensors --weights small --format json -o a.json; fp8moe verify whole.safetensors --weights-stage loaded --weight-block-size 64x64 --format json -o b.json
  $ validate a.json; query a.json dumps.0.stages.output > a; query b.json dumps.0.stages.output > b; cmp a b; query a.json dumps.0.settings.weights_stage dumps.0.settings.num_experts dumps.0.notes
  a.json: fp8moe.report/1: valid
  {"value": "checkpoint", "source": "model"}
  {"value": 8, "source": "model"}
  ["weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert, shared_expert_gate left out"]

Another folder's weights are another layer.

  $ fp8moe verify dump.safetensors --weights minimax | head -n 1
  different: output differs from recipe gather (evidence: source): 1024 elements lie outside what any

Every naming and every kind of scale gives outputs that verify; stock and gather take them.

  $ for kind in minimax fused channel; do for recipe in gather stock; do fp8moe run bare.safetensors --weights $kind --recipe $recipe -o o.safetensors > /dev/null && join_dumps bare.safetensors o.safetensors d.safetensors output && fp8moe verify d.safetensors --weights $kind --recipe $recipe | head -n 1; done; done
  same: output is the same as recipe gather (evidence: source): every row is identical
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  same: output is the same as recipe gather (evidence: source): every row is identical
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  same: output is the same as recipe gather (evidence: source): every row is identical
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  $ fp8moe run bare.safetensors --weights static --recipe static-moe -o o.safetensors > /dev/null && join_dumps bare.safetensors o.safetensors d.safetensors output && fp8moe verify d.safetensors --weights static --recipe static-moe | head -n 1
  same: output is the same as recipe static-moe (evidence: measured): every row is identical

The layer is an option, the dump's metadata, or the only one there is.

  $ edit_dump dump.safetensors noted.safetensors meta:layer=model.layers.7.mlp; fp8moe verify noted.safetensors --weights small
  fp8moe: small: layer 7 has no experts; the only layer with experts is 3
  [3]
  $ fp8moe verify noted.safetensors --weights small --layer 3 | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ fp8moe verify dump.safetensors --weights small --layer 4
  fp8moe: small: layer 4 has no experts; the only layer with experts is 3
  [3]
  $ fp8moe verify dump.safetensors --weights small --layer three
  fp8moe: small: --layer 'three': expected the number of a layer
  [2]
  $ fp8moe verify dump.safetensors --layer 3
  fp8moe: dump.safetensors: --layer chooses from a model folder: it needs --weights
  [2]
  $ fp8moe verify dump.safetensors --tp-size 2
  fp8moe: dump.safetensors: --tp-size chooses from a model folder: it needs --weights
  [2]
  $ fp8moe verify dump.safetensors --weights absent
  fp8moe: absent: there is no such folder
  [3]
  $ fp8moe verify s.safetensors --weights small
  fp8moe: s.safetensors: the dump holds weights itself: leave --weights out, or hold the two against each other with --prep
  [2]
  $ fp8moe verify dump.safetensors --weights small --op linear
  fp8moe: dump.safetensors: --weights reads the experts of a layer, not the weight of a linear
  [2]
  $ fp8moe verify small
  fp8moe: small is a model folder: give it to --weights, and the dump as argument
  [2]

Slices of two ranks: the outputs of both add up to the whole's, up to the roundings of each. A slice that cuts
through blocks takes the right scales, and is said to be one that upstream refuses.

  $ for rank in 0 1; do fp8moe run bare.safetensors --weights small --recipe exact --tp-rank $rank --tp-size 2 -o tp$rank.safetensors > /dev/null; done; fp8moe run bare.safetensors --weights small --recipe exact -o tp.safetensors > /dev/null
  $ sum_outputs tp.safetensors tp0.safetensors tp1.safetensors
  2 parts add up
  $ for rank in 0 1 2 3; do fp8moe run bare.safetensors --weights small --recipe exact --tp-rank $rank --tp-size 4 -o tp$rank.safetensors > /dev/null; done; sum_outputs tp.safetensors tp0.safetensors tp1.safetensors tp2.safetensors tp3.safetensors
  4 parts add up
  $ fp8moe verify dump.safetensors --weights small --tp-rank 3 --tp-size 4 | grep -A 2 note
    note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8, slice 3 of 4;
                   shared_expert, shared_expert_gate left out
                   slices of 32 cut through scale blocks of 64 x 64, which upstream refuses to load
  $ for rank in 0 1; do fp8moe run bare.safetensors --weights small --recipe exact --ep-rank $rank --ep-size 2 -o ep$rank.safetensors > /dev/null; done; sum_outputs tp.safetensors ep0.safetensors ep1.safetensors
  2 parts add up
  $ fp8moe run bare.safetensors --weights small --recipe exact --ep-size 3 -o o.safetensors
  fp8moe: small: 8 experts do not divide among 3 ranks
  [2]
  $ fp8moe run bare.safetensors --weights small --recipe exact --tp-rank 2 --tp-size 2 -o o.safetensors
  fp8moe: small: rank 0 of 1 (experts), rank 2 of 2 (tensors): sizes start at 1, ranks at 0
  [2]
  $ fp8moe run bare.safetensors --weights small --recipe exact --tp-size 5 -o o.safetensors
  fp8moe: small: I = 128 does not divide among 5 ranks
  [2]

Without routing, logits are computed from the folder's router, and the report says so.

  $ edit_dump bare.safetensors unrouted.safetensors drop:router_logits drop:topk_ids drop:topk_weights unmeta:top_k
  $ fp8moe run unrouted.safetensors --weights small -o o.safetensors | grep -A 2 model
    model          weights_stage checkpoint, top_k 8, num_experts 8, local_num_experts 8,
                   weight_block_size 64x64
    output                   [4, 256] BF16                sha256 a64e62f5fee2c437...
  $ join_dumps unrouted.safetensors o.safetensors d.safetensors output; fp8moe verify d.safetensors --weights small | grep -A 4 note
    note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert,
                   shared_expert_gate left out
                   the dump holds no routing: router_logits were computed from hidden_states and the
                   folder's router; a device may choose otherwise where two logits are near each other

What config.json says of the router is taken where no option and no metadata says it.

  $ sed -i 's/"norm_topk_prob": true/"norm_topk_prob": false, "scoring_func": "sigmoid", "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5/' minimax/config.json
  $ edit_dump unrouted.safetensors plain.safetensors nometa; fp8moe run plain.safetensors --weights minimax --target gaudi2 --recipe gather --top-k 2 -o o.safetensors | grep -A 3 model
    model          weights_stage checkpoint, num_experts 8, local_num_experts 8, renormalize false,
                   scoring_func sigmoid, n_group 4, topk_group 2, routed_scaling_factor 2.5,
                   weight_block_size 64x64
    inferred       op moe
  $ sed -i 's/sigmoid/sqrtsoftplus/' minimax/config.json; fp8moe run plain.safetensors --weights minimax --target gaudi2 --recipe gather --top-k 2 -o o.safetensors
  fp8moe: plain.safetensors: config.json says scoring_func "sqrtsoftplus", which is not emulated: dump topk_ids and topk_weights
  [3]
  $ fp8moe run plain.safetensors --weights minimax --target gaudi2 --recipe gather --top-k 2 --scoring-func sigmoid -o o.safetensors | head -n 1
  o.safetensors: written under recipe gather
  $ sed -i 's/"norm_topk_prob": true/"norm_topk_prob": false/' small/config.json; edit_dump dump.safetensors told.safetensors unmeta:renormalize; fp8moe verify told.safetensors --weights small --layer 3 | grep -A 5 note
    note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert,
                   shared_expert_gate left out
                   config.json says norm_topk_prob false, but upstream's ungrouped routing divides by
                   the sum all the same, and so does this run: --no-renormalize for one that does not

Experts that compute what is not emulated are refused.

  $ sed -i 's/"silu"/"gelu"/' fused/config.json; fp8moe verify dump.safetensors --weights fused
  fp8moe: fused: config.json: hidden_act is "gelu"; emulated are silu experts in bf16 or FP8 E4M3 (fp8, compressed-tensors)
  [3]
  $ sed -i 's/"hidden_act": "silu"/"swiglu_limit": 10/' channel/config.json; fp8moe verify dump.safetensors --weights channel
  fp8moe: channel: config.json: swiglu_limit 10: a clamped SwiGLU is not emulated
  [3]

Case files name the folder, from where they stand; init writes it down.

  $ mkdir cases; printf 'files: ../dump.safetensors\nweights: ../small\nlayer: 3\n' > cases/one.yaml; fp8moe verify cases/one.yaml | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ printf 'files: dump.safetensors\nweights: small\nprep: true\n' > two.yaml; fp8moe verify two.yaml
  fp8moe: two.yaml: line 3, column 1: unknown key 'prep'
  [3]
  $ fp8moe init dump.safetensors --weights small | grep -A 1 weights:
      weights: "small"
      layer: 3
