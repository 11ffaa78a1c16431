The same input captured again shows the device's own spread; rows are chosen with --rows.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 --noise 1 -o a.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 --noise 2 -o b.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 --seed 9 -o c.safetensors > /dev/null
  $ fp8moe verify a.safetensors --repeat b.safetensors | grep -E '^[a-z]+:|repeated'
  same: output is the same as recipe stock (evidence: inferred): every row is identical
      repeated       1 captures of the same input, rel-L2 between them up to 0
  $ fp8moe verify a.safetensors --repeat c.safetensors
  fp8moe: c.safetensors: --repeat: hidden_states or routing are not those of the first capture
  [2]
  $ fp8moe verify a.safetensors --rows 1..2 --format json -o report.json; query report.json dumps.0.tensors.0.judgement.rows dumps.0.tensors.0.repeats
  {"asked": 2, "equal": 0, "identical": 2, "explained": 0, "noise": 0}
  0
  $ validate report.json
  report.json: fp8moe.report/1: valid

An old verify dump of upstream holds both outputs and nothing else; custom is held against stock, and no target is asked for.

  $ edit_dump a.safetensors d.safetensors copy:output=custom copy:output=stock drop:output drop:hidden_states unmeta:recipe unmeta:target
  $ fp8moe verify d.safetensors | grep -E '^[a-z]+:|note'
  same: custom is the same as the reference
    note           no inputs: custom is held against stock, neither is recomputed
