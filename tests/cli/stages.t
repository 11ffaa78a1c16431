run writes the output, or every stage; each has a hash that verify reports too.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe run a.safetensors -o out.safetensors
  out.safetensors: written under recipe stock
    metadata       op moe, target gaudi2, recipe stock, weights_stage checkpoint, top_k 2, num_experts
                   4, local_num_experts 4, ep_rank 0, renormalize true, scoring_func softmax, n_group
                   1, topk_group 1, routed_scaling_factor 1, replicate_expert false, weight_block_size
                   128x128
    output                   [3, 64] BF16                 sha256 ac714f5308789ba9...
  $ fp8moe compare a.safetensors:output out.safetensors | head -n 1
  same: output is the same as the reference
  $ fp8moe run a.safetensors --stages -o stages.safetensors --format json > run.json
  $ fp8moe inspect stages.safetensors | grep -v '^ '
  stages.safetensors: safetensors, 10 tensors
  x_codes [3, 64] F8_E4M3
  x_scale [3, 1] F32
  topk_ids [3, 2] I64
  topk_weights [3, 2] F32
  up_gate [3, 2, 64] BF16
  activation [3, 2, 32] BF16
  act_codes [3, 2, 32] F8_E4M3
  act_scale [3, 2, 1] F32
  expert_output [3, 2, 64] BF16
  output [3, 64] BF16
  $ validate run.json
  run.json: fp8moe.run/1: valid
  $ fp8moe verify a.safetensors --format json > report.json
  $ for i in 0 4 9; do name=$(query run.json tensors.$i.name); echo $name $(query run.json tensors.$i.sha256 | cut -c 1-16) $(query report.json dumps.0.stages.$name | cut -c 1-16); done
  x_codes 5ed5449f5bb7bcd7 5ed5449f5bb7bcd7
  up_gate 6835269b7110b9c9 6835269b7110b9c9
  output ac714f5308789ba9 ac714f5308789ba9
  $ fp8moe inspect out.safetensors | grep -e recipe -e target
    target = gaudi2
    recipe = stock

A stage the dump holds is compared by name; its share does not decide the verdict.

  $ join_dumps a.safetensors stages.safetensors both.safetensors act_codes act_scale up_gate
  $ fp8moe verify both.safetensors | grep dumped
                   up_gate sha256 6835269b7110b9c9..., dumped too: 100 % of 384 elements identical
                   act_codes sha256 ab755e5a3a7fdbaf..., dumped too: 100 % of 192 elements identical
                   act_scale sha256 f769db8805167d78..., dumped too: 100 % of 6 elements identical
  $ edit_dump both.safetensors moved.safetensors 'set:act_codes[0]=0102'
  $ fp8moe verify moved.safetensors --format json > report.json
  $ query report.json verdict dumps.0.dumped_stages.1
  same
  {"name": "act_codes", "count": 192, "padding": 0, "identical": 190, "identical_share": 0.9895833333333334}
  $ validate report.json
  report.json: fp8moe.report/1: valid

--from takes it from the dump instead of computing it.

  $ fp8moe verify moved.safetensors --from act_codes > report.txt; echo $?
  1
  $ grep act_codes report.txt | cut -c 1-60
                   act_codes sha256 2a98f8a72e1f59dd..., taken
  $ fp8moe verify both.safetensors --from act_codes --from act_scale | head -n 1
  same: output is the same as recipe stock (evidence: inferred): every row is identical
  $ fp8moe verify both.safetensors --from x_codes
  fp8moe: both.safetensors: --from x_codes: the dump holds no such stage
  [3]
  $ edit_dump both.safetensors wrong.safetensors shape:act_codes=3x64
  $ fp8moe verify wrong.safetensors
  fp8moe: wrong.safetensors: tensor 'act_codes': [3, 64], but this stage is [3, 2, 32]
  [3]

Blocks of many tokens are compared and written in their places, whatever the leading dimensions.

  $ fp8moe synth --shape T=300,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o m.safetensors > /dev/null
  $ fp8moe run m.safetensors --stages -o n.safetensors > /dev/null
  $ join_dumps m.safetensors n.safetensors many.safetensors act_codes up_gate
  $ edit_dump many.safetensors batched.safetensors shape:hidden_states=3x100x64 shape:output=3x100x64 'set:up_gate[76799]=00'
  $ fp8moe verify batched.safetensors --format json -o report.json
  $ query report.json verdict dumps.0.dumped_stages
  same
  [{"name": "up_gate", "count": 38400, "padding": 0, "identical": 38399, "identical_share": 0.9999739583333334}, {"name": "act_codes", "count": 19200, "padding": 0, "identical": 19200, "identical_share": 1}]
  $ fp8moe verify batched.safetensors --from act_codes --format json -o report.json
  $ query report.json verdict dumps.0.stages_from_dump dumps.0.dumped_stages.count
  same
  ["act_codes"]
  1
