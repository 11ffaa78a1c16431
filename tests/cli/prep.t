Weights from a model folder as a serving process holds them, and what a dump of such weights says of its device.

  $ make_checkpoint small
  $ fp8moe prepare --weights small --target gaudi2 -o prepared.safetensors
  prepared.safetensors: written
    option         target gaudi2
    model          top_k 8, num_experts 8, local_num_experts 8, weight_block_size 64x64
    default        op moe, weights_stage prepared, ep_rank 0, renormalize true, scoring_func softmax,
                   n_group 1, topk_group 1, routed_scaling_factor 1, replicate_expert false
    w13_weight               [8, 256, 256] F8_E4M3        sha256 e107c9b65872186d...
    w13_weight_scale_inv     [8, 256] F32                 sha256 02215b8df425785d...
    w2_weight                [8, 256, 128] F8_E4M3        sha256 d25c672638af8a72...
    w2_weight_scale_inv      [8, 256] F32                 sha256 064dd44379c1b832...
  $ fp8moe verify --prep prepared.safetensors --weights small --target gaudi2
  same: every row follows from the checkpoint, bit for bit (fp8_max 240, division nearest)
  prepared.safetensors against small
  note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert,
                 shared_expert_gate left out
  scales: 4096 rows
    best way       4096 the same, 0 one bf16 step below, 0 one above, 0 further off
    fp8_max        240 4096, 448 0 of 4096 rows
    epsilon        bf16 4096, f32 4096, none 4096 of 4096 rows: this dump cannot tell
    division       nearest 4096, down 2103, reciprocal-bf16 1537, f32 330 of 4096 rows
    halving        yes 4096, no 4096 of 4096 rows: this dump cannot tell
    so             the divisor is 240; the bf16 number nearest to the quotient
  codes: 786432, every way tried on 2048 rows
    best way       786432 the same, 0 one step off, 0 further off
    inverse        nearest 2048, down 1471, f32 1553 of 2048 rows
    product        bf16 2048, f32 1128 of 2048 rows
    halving        yes 2048, no 1166 of 2048 rows
    so             the bf16 number nearest to 1/scale; scaled values are rounded to bf16 before E4M3;
                   codes were halved and scales doubled while loading
  $ fp8moe verify --prep prepared.safetensors --weights small --format json -o report.json; validate report.json; query report.json verdict scales.ways.0 codes.ways.0
  report.json: fp8moe.prepared/1: valid
  same
  {"fp8_max": "240", "epsilon": "bf16", "division": "nearest", "halving": "yes", "explained": 4096}
  {"inverse": "nearest", "product": "bf16", "halving": "yes", "explained": 2048}
  $ fp8moe prepare --weights small --target gaudi3 -o gaudi3.safetensors --format json > report.json; validate report.json
  report.json: fp8moe.prepare/1: valid
  $ fp8moe verify --prep gaudi3.safetensors --weights small | head -n 1
  same: every row follows from the checkpoint, bit for bit (fp8_max 448, division nearest)
  $ fp8moe verify --prep gaudi3.safetensors --weights small --target gaudi2 | head -n 2
  different: every row follows from the checkpoint, but with fp8_max 448, where target gaudi2 has 240
  gaudi3.safetensors against small

A dump of scales alone is small and says most of it.

  $ edit_dump prepared.safetensors scales.safetensors drop:w13_weight drop:w2_weight; fp8moe verify --prep scales.safetensors --weights small
  same: every row follows from the checkpoint, bit for bit (fp8_max 240, division nearest)
  scales.safetensors against small
  note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert,
                 shared_expert_gate left out
  scales: 4096 rows
    best way       4096 the same, 0 one bf16 step below, 0 one above, 0 further off
    fp8_max        240 4096, 448 0 of 4096 rows
    epsilon        bf16 4096, f32 4096, none 4096 of 4096 rows: this dump cannot tell
    division       nearest 4096, down 2103, reciprocal-bf16 1537, f32 330 of 4096 rows
    halving        yes 4096, no 4096 of 4096 rows: this dump cannot tell
    so             the divisor is 240; the bf16 number nearest to the quotient
  codes: the dump holds none

A scale one bf16 step off is within what a device's division may do; two steps are not, and are named.

  $ edit_dump prepared.safetensors off.safetensors 'set:w13_weight_scale_inv[2]=3E'; fp8moe verify --prep off.safetensors --weights small | head -n 6
  same: every row follows from the checkpoint (fp8_max 240, division nearest) within one step: 1
  scales and 21 codes are one off
  off.safetensors against small
  note           weights of model.layers.3.mlp. in small: experts 0 to 7 of 8; shared_expert,
                 shared_expert_gate left out
  scales: 4096 rows
  $ edit_dump prepared.safetensors far.safetensors 'set:w2_weight_scale_inv[6]=5C'; fp8moe verify --prep far.safetensors --weights small | grep -E 'different|worst'
  different: 1 of 4096 row scales are more than one bf16 step from what any arithmetic gives: other
    worst          w2 expert 0 row 1: 0.000839233398, expected 0.000831604004
  $ edit_dump prepared.safetensors code.safetensors 'set:w2_weight[700]=7F'; fp8moe verify --prep code.safetensors --weights small | head -n 2
  different: 1 of 786432 codes are more than one step from what any arithmetic gives
  code.safetensors against small

Another rank's slice, or another layer, does not follow.

  $ fp8moe prepare --weights small --target gaudi2 --tp-rank 1 --tp-size 2 -o rank1.safetensors > /dev/null
  $ fp8moe verify --prep rank1.safetensors --weights small | head -n 2
  same: every row follows from the checkpoint, bit for bit (fp8_max 240, division nearest)
  rank1.safetensors against small
  $ fp8moe verify --prep rank1.safetensors --weights small --tp-rank 0 | head -n 1
  different: 3054 of 3072 row scales are more than one bf16 step from what any arithmetic gives: other
  $ fp8moe prepare --weights small --target gaudi2 --ep-rank 1 --ep-size 2 -o half.safetensors > /dev/null; fp8moe verify --prep half.safetensors --weights small | head -n 1
  same: every row follows from the checkpoint, bit for bit (fp8_max 240, division nearest)
  $ fp8moe prepare --weights small --target gaudi2 --tp-size 4 --tp-rank 1 --weights-stage loaded -o o.safetensors
  fp8moe: small: this rank's slice starts within a scale block: loaded, it has no scale grid of its own
  [2]

What cannot be asked.

  $ fp8moe prepare --target gaudi2 -o o.safetensors
  fp8moe: prepare needs --weights FOLDER
  [2]
  $ fp8moe prepare --weights small -o o.safetensors
  fp8moe: prepare needs --target: devices differ in what they make of weights
  [2]
  $ fp8moe prepare --weights small --target gaudi2
  fp8moe: prepare needs -o OUT.safetensors
  [2]
  $ fp8moe prepare --weights small --target gaudi2 --weights-stage checkpoint -o o.safetensors
  fp8moe: --weights-stage checkpoint: that is what the folder holds; loaded or prepared
  [2]
  $ fp8moe verify --prep prepared.safetensors
  fp8moe: --prep needs --weights: the folder the weights were prepared from
  [2]
  $ fp8moe verify --prep prepared.safetensors scales.safetensors --weights small
  fp8moe: --prep takes one layer, these files hold 2
  [2]
  $ make_checkpoint channel channel; fp8moe verify --prep prepared.safetensors --weights channel
  fp8moe: prepared.safetensors: preparing computes row scales only from FP8 weights with block scales, which these are not
  [3]
  $ edit_dump prepared.safetensors none.safetensors drop:w13_weight_scale_inv drop:w2_weight_scale_inv drop:w13_weight drop:w2_weight; fp8moe verify --prep none.safetensors --weights small
  fp8moe: none.safetensors: the dump holds no prepared scales (w13_weight_scale_inv, w2_weight_scale_inv)
  [3]
