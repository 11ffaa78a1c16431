Usage errors: one sentence, the nearest word where there is one, exit code 2.

  $ fp8moe
  fp8moe: did this device compute this FP8 mixture-of-experts layer correctly?
  
  Usage: fp8moe COMMAND [OPTIONS] ...
  
  Commands:
    verify    recompute a layer from its dump and compare every output it holds
    compare   compare tensors of two files, A being the reference, or a file's custom and stock
    run       compute a layer from its dump and write the output, or every stage
    inspect   list a file's tensors with their range, or a model folder's layers
    lint      say what is odd about a dump before anything is multiplied
    init      write a commented case file from what dumps hold
    ranks     hold the ranks of one layer against each other
    prepare   write a layer's weights from a model folder as a serving process holds them
    synth     make up a layer and its output under a recipe
    recipes   list targets and recipes, their evidence and what is open about them
    doctor    check that this machine's arithmetic is fit
    gate      say which path layer calls take, and which condition says no
    route     hold dumped ids and weights against the router logits, and find near flips
    status    say whether a vllm-gaudi holds the gathered combine, and in which form
    log       read server logs for what upstream's verify mode reported
    help      this text, 'help COMMAND' for one command, 'help names' for tensor names
    version   the version
  
  Exit codes: 0 same (or done), 1 different, 2 usage, 3 unreadable input, 4 inconclusive or nothing to
  judge, 5 internal or unfit arithmetic. Over many inputs the worst counts: 5, 3, 2, 1, 4, 0.
  
  Example:
    fp8moe verify layer.safetensors --target gaudi2 --weights-stage loaded --top-k 8
  [2]
  $ fp8moe verfy a.safetensors
  fp8moe: there is no command 'verfy'; did you mean 'verify'?
  Try 'fp8moe help'.
  [2]
  $ fp8moe frobnicate
  fp8moe: there is no command 'frobnicate'
  Try 'fp8moe help'.
  [2]
  $ fp8moe verify
  fp8moe: verify needs DUMP...
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe verify --taget gaudi2 a.safetensors
  fp8moe: unknown option --taget; did you mean --target?
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe verify --top-k=8 --xyzzyxyzzy a.safetensors
  fp8moe: unknown option --xyzzyxyzzy
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe verify --stages a.safetensors
  fp8moe: --stages is no option of verify (it belongs to: run)
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe verify a.safetensors --target
  fp8moe: --target needs a value: gaudi2|gaudi3|ocp
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe verify a.safetensors --target ''
  fp8moe: --target needs a value: gaudi2|gaudi3|ocp
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe run --stages=yes a.safetensors
  fp8moe: --stages takes no value
  Try 'fp8moe help run'.
  [2]
  $ fp8moe verify --target ocp --target gaudi2 a.safetensors
  fp8moe: --target is given twice
  Try 'fp8moe help verify'.
  [2]
  $ fp8moe compare a b c
  fp8moe: 'c' is one argument too many for compare
  Try 'fp8moe help compare'.
  [2]
  $ fp8moe doctor now
  fp8moe: 'now' is one argument too many for doctor
  Try 'fp8moe help doctor'.
  [2]
  $ fp8moe verify --format xml a.safetensors
  fp8moe: --format 'xml': expected one of text, json
  [2]
  $ fp8moe recipes gathre
  fp8moe: 'gathre' is no recipe; did you mean gather?
  [2]

Numbers are read strictly: no blanks, no signs, no trailing text, no other base, no overflow.

  $ fp8moe synth --shape T=1,E=4,K=2,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ fp8moe verify a.safetensors --top-k 2.0
  fp8moe: --top-k '2.0': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --top-k ' 2'
  fp8moe: --top-k ' 2': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --top-k 0
  fp8moe: --top-k '0': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --top-k 0x2
  fp8moe: --top-k '0x2': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --top-k 4294967298
  fp8moe: --top-k '4294967298': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --top-k 18446744073709551618
  fp8moe: --top-k '18446744073709551618': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --top-k 99999999999999999999
  fp8moe: --top-k '99999999999999999999': expected a whole number from 1 to 2147483647
  [2]
  $ fp8moe verify a.safetensors --routed-scaling-factor 1,5
  fp8moe: --routed-scaling-factor '1,5': expected a finite number
  [2]
  $ fp8moe verify a.safetensors --routed-scaling-factor 1e999
  fp8moe: --routed-scaling-factor '1e999': expected a finite number
  [2]
  $ fp8moe verify a.safetensors --routed-scaling-factor inf
  fp8moe: --routed-scaling-factor 'inf': expected a finite number
  [2]
  $ fp8moe verify a.safetensors --weight-block-size 128
  fp8moe: --weight-block-size '128': expected ROWSxCOLUMNS
  [2]
  $ fp8moe verify a.safetensors --target gaudi4
  fp8moe: --target 'gaudi4': expected one of gaudi2, gaudi3, ocp
  [2]
  $ fp8moe verify a.safetensors --recipe gathered
  fp8moe: --recipe 'gathered': expected one of gather, stock, stock-hp, stock-eager, dense, dequant, bf16, static-moe, exact, static-linear, dynamic-linear, dequant-linear, w8a16-linear, auto
  [2]
  $ fp8moe verify a.safetensors --weights-stage raw
  fp8moe: --weights-stage 'raw': expected one of checkpoint, loaded, prepared
  [2]
  $ fp8moe verify a.safetensors --threads 0
  fp8moe: --threads '0': expected a whole number from 1 to 1024
  [2]
  $ fp8moe verify a.safetensors --isa sse9
  fp8moe: --isa 'sse9': expected one of portable, neon, avx2, avx512, amx, all
  [2]
  $ fp8moe verify a.safetensors --grid column
  fp8moe: --grid 'column': expected row, tensor or unscaled
  [2]
  $ fp8moe verify a.safetensors --from nothing
  fp8moe: --from nothing: no stage is called so (see 'fp8moe help names')
  [2]
  $ fp8moe verify a.safetensors --name hidden_states
  fp8moe: --name hidden_states: expected FIELD=NAME_IN_FILE
  [2]
  $ fp8moe verify a.safetensors --name hiden=x
  fp8moe: --name hiden=x: no field is called so (see 'fp8moe help names')
  [2]
  $ fp8moe verify a.safetensors --as output=e9m9
  fp8moe: --as output=e9m9: expected NAME=DTYPE, DTYPE being e4m3fn, e5m2, bf16 or f16
  [2]
  $ fp8moe run a.safetensors
  fp8moe: run needs -o OUT.safetensors
  [2]

What stands behind -- is no option.

  $ fp8moe inspect -- --top-k
  fp8moe: --top-k: cannot open: no such file or folder (errno 2)
  [3]
