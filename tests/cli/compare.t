compare holds tensors of two files against each other: exit codes 0, 1, 3 and 4 are different things.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o b.safetensors > /dev/null
  $ fp8moe compare a.safetensors:output b.safetensors > report.txt; echo $?
  $ cat report.txt
  $ fp8moe compare a.safetensors a.safetensors:output | head -n 3
  $ fp8moe compare a.safetensors b.safetensors --format json -o report.json
  $ query report.json reason dumps.0.file dumps.0.reference dumps.0.tensors.count dumps.0.tensors.0.name dumps.0.tensors.8.verdict
  $ validate report.json
  $ fp8moe compare a.safetensors:output b.safetensors:topk_ids
  $ fp8moe compare a.safetensors:nothing b.safetensors
  $ fp8moe compare a.safetensors nothing.safetensors

The grid of FP8 steps can be chosen and is named.

  $ fp8moe compare a.safetensors:output b.safetensors --grid unscaled | grep FP8
  $ fp8moe compare a.safetensors:output b.safetensors --grid tensor | grep FP8

A file's own name may hold a colon.

  $ cp a.safetensors a:output
  $ fp8moe compare a:output a:output:output | head -n 3

Files of one tensor each need no names; files that share none have nothing to judge.

  $ fp8moe run a.safetensors -o one.safetensors > /dev/null
  $ edit_dump one.safetensors two.safetensors rename:output=custom
  $ fp8moe compare one.safetensors two.safetensors | head -n 1
  $ edit_dump two.safetensors three.safetensors copy:custom=stock
  $ fp8moe compare one.safetensors three.safetensors
  $ edit_dump one.safetensors four.safetensors shape:output=4x48
  $ fp8moe compare one.safetensors four.safetensors
