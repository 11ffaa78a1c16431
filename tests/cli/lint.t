What is odd about a dump, before anything is multiplied.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi3 -o a.safetensors > /dev/null
  $ fp8moe lint a.safetensors
  a.safetensors: 0 findings
  $ fp8moe lint a.safetensors --format json -o lint.json; echo $?
  0
  $ query lint.json schema layers.0.findings
  fp8moe.lint/1
  []
  $ fp8moe lint missing.safetensors
  fp8moe: missing.safetensors: cannot open: no such file or folder (errno 2)
  [3]
