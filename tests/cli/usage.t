Usage errors: one sentence, the nearest word where there is one, exit code 2.

  $ fp8moe
  $ fp8moe verfy a.safetensors
  $ fp8moe frobnicate
  $ fp8moe verify
  $ fp8moe verify --taget gaudi2 a.safetensors
  $ fp8moe verify --top-k=8 --xyzzyxyzzy a.safetensors
  $ fp8moe verify --stages a.safetensors
  $ fp8moe verify a.safetensors --target
  $ fp8moe verify a.safetensors --target ''
  $ fp8moe run --stages=yes a.safetensors
  $ fp8moe verify --target ocp --target gaudi2 a.safetensors
  $ fp8moe compare a b c
  $ fp8moe doctor now
  $ fp8moe verify --format xml a.safetensors
  $ fp8moe recipes gathre

Numbers are read strictly: no blanks, no signs, no trailing text, no other base, no overflow.

  $ fp8moe synth --shape T=1,E=4,K=2,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ fp8moe verify a.safetensors --top-k 2.0
  $ fp8moe verify a.safetensors --top-k ' 2'
  $ fp8moe verify a.safetensors --top-k 0
  $ fp8moe verify a.safetensors --top-k 0x2
  $ fp8moe verify a.safetensors --top-k 4294967298
  $ fp8moe verify a.safetensors --top-k 99999999999999999999
  $ fp8moe verify a.safetensors --routed-scaling-factor 1,5
  $ fp8moe verify a.safetensors --routed-scaling-factor 1e999
  $ fp8moe verify a.safetensors --routed-scaling-factor inf
  $ fp8moe verify a.safetensors --weight-block-size 128
  $ fp8moe verify a.safetensors --target gaudi4
  $ fp8moe verify a.safetensors --recipe gathered
  $ fp8moe verify a.safetensors --weights-stage raw
  $ fp8moe verify a.safetensors --threads 0
  $ fp8moe verify a.safetensors --isa sse9
  $ fp8moe verify a.safetensors --grid column
  $ fp8moe verify a.safetensors --from nothing
  $ fp8moe verify a.safetensors --name hidden_states
  $ fp8moe verify a.safetensors --name hiden=x
  $ fp8moe verify a.safetensors --as output=e9m9
  $ fp8moe run a.safetensors

What stands behind -- is no option.

  $ fp8moe inspect -- --top-k
