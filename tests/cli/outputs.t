Every output is judged; custom stands for gather, stock for stock, unless an option or the metadata says otherwise.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o b.safetensors > /dev/null
  $ edit_dump a.safetensors c.safetensors rename:output=custom unmeta:recipe
  $ fp8moe verify c.safetensors | head -n 1
  same: custom is the same as recipe gather (evidence: source): every row is identical
  $ edit_dump c.safetensors d.safetensors copy:custom=stock
  $ fp8moe verify d.safetensors --format json -o report.json
  [4]
  $ query report.json reason dumps.0.tensors.0.recipe dumps.0.tensors.0.verdict dumps.0.tensors.1.recipe dumps.0.tensors.1.verdict
  stock cannot be told from recipe stock (evidence: inferred) with intermediate kept in bf16 (an open axis): 3 rows differ by no more than noise might, but recipe gather lies nearer: a rounding point may have moved
  gather
  same
  stock
  inconclusive
  $ query report.json dumps.0.tensors.0.recipe_source dumps.0.stages.keys
  name
  gather.x_codes gather.x_scale gather.topk_ids gather.topk_weights gather.up_gate gather.activation gather.expert_output gather.output stock.x_codes stock.x_scale stock.topk_ids stock.topk_weights stock.up_gate stock.activation stock.act_codes stock.act_scale stock.expert_output stock.output
  $ validate report.json
  report.json: fp8moe.report/1: valid
  $ fp8moe verify d.safetensors --recipe gather | head -n 1
  same: custom is the same as recipe gather (evidence: source): every row is identical

A dump that holds no output, an empty one, or only zeros on both sides has nothing to judge: exit code 4.

  $ edit_dump a.safetensors e.safetensors drop:output
  $ fp8moe verify e.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  inconclusive: nothing to judge: there is no output, out, out0, ref_output, custom or stock
  4
  $ edit_dump a.safetensors f.safetensors zero:hidden_states zero:output
  $ fp8moe verify f.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  inconclusive: nothing to judge in output: it is zero on both sides
  4
  $ edit_dump a.safetensors f.safetensors empty:hidden_states empty:topk_ids empty:topk_weights empty:router_logits empty:output
  $ fp8moe verify f.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  inconclusive: nothing to judge in output: it has no elements
  4
  $ edit_dump a.safetensors f.safetensors zero:output
  $ fp8moe verify f.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  different: output differs from recipe gather (evidence: source): 192 elements lie outside what any
  1

f32 whose low halves are zero is judged as the bf16 it is.

  $ edit_dump a.safetensors g.safetensors widen:output widen:hidden_states
  $ fp8moe verify g.safetensors | grep -e same: -e bf16,* -e judged
  same: output is the same as recipe gather (evidence: source): every row is identical
      open           tf32 down matmul; three-bf16 down matmul; bf16 down matmul; f32 input cast; bf16
      rows           3 judged, 0 equal to an earlier one; 3 identical, 0 explained, 0 by noise
      bf16 steps     mean 0, median 0, p99 0, p99.9 0, largest 0
    note           output is F32 with all low halves zero: bf16 numbers, judged as such
                   hidden_states are F32 with all low halves zero: taken as bf16

NaN on one side is a difference and is counted apart; its first place is named.

  $ edit_dump a.safetensors h.safetensors 'set:output[134]=c07f'
  $ fp8moe verify h.safetensors > report.txt; echo $?
  1
  $ head -n 2 report.txt; grep non-finite -A 1 report.txt
  different: output differs from recipe gather (evidence: source): 1 element is NaN or Inf on one side
  only
      kind           non-finite
      elements       191 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 1 non-finite on
                     one side; 0 padding
  --
      non-finite     1 differ, 0 equal; expected 0 NaN, 0 Inf; dumped 1 NaN, 0 Inf; first at row 1,
                     column 3
  $ fp8moe verify h.safetensors --format json > report.json
  [1]
  $ query report.json dumps.0.tensors.0.classes dumps.0.tensors.0.nonfinite.first dumps.0.tensors.0.metrics.not_finite dumps.0.tensors.0.metrics.upstream_ulp
  {"identical": 191, "different": 0, "nonfinite_differs": 1}
  {"row": 1, "column": 3}
  1
  null
  $ validate report.json
  report.json: fp8moe.report/1: valid

NaN in an unrouted expert reaches the gathered path through 0 * NaN, and the report says so.

  $ edit_dump a.safetensors i.safetensors 'set:w2_weight[0]=7f'
  $ fp8moe verify i.safetensors | grep -A 3 note
    note           recipe gather: 2 outputs are NaN because an expert that the token was not routed to
                   is multiplied by 0 and holds NaN or Inf; first token 0, local expert 0

An output of another shape is refused, not folded.

  $ edit_dump a.safetensors j.safetensors shape:output=6x32
  $ fp8moe verify j.safetensors
  fp8moe: j.safetensors: tensor 'output': shapes [3, 64] and [6, 32] differ
  [3]
  $ edit_dump a.safetensors j.safetensors shape:output=1x3x64
  $ fp8moe verify j.safetensors | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
