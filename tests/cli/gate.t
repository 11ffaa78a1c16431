Which path a layer call takes. What is not given is favourable to the gathered combine, and printed as assumed.

  $ fp8moe gate --tokens 5..8 --top-k 8 --local-num-experts 128
  T = 5 to 6 gather, 7 to 8 stock
    upstream       v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    sizes          K 8, E_local 128 of E 128
    largest T      gather 6
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, assumed
      yes GATHER is on                                   gather on, assumed
      yes the activation is silu                         activation silu, assumed
      yes activations are not quantised statically       activation_scheme dynamic, assumed
      yes weights are block-quantised                    block_quant on, assumed
      yes QUANT_CONFIG is not set                        quant_config off, assumed
      yes FORCE_CHANNEL is on                            force_channel on, assumed
      T   T * K <= E_local * RATIO                       ratio 0.4, assumed: at most 51.2
  
         T   T * K     g  path
         5      40    40  gather
         6      48    48  gather
         7      56    56  stock
         8      64    64  stock
  $ fp8moe gate --tokens 13 --top-k 8 --local-num-experts 256 | head -n 1
  T = 13 stock: too many token-expert pairs for the experts of this rank
  $ fp8moe gate --tokens 13 --top-k 8 --local-num-experts 256 -o report.txt
  [1]
  $ fp8moe gate --tokens 12 --top-k 8 --local-num-experts 256 -o report.txt

The largest T that gathers at ratio 0.4:

  $ for sizes in "256 8" "128 8" "64 8" "32 8" "16 8" "512 10" "8 2"; do set -- $sizes; echo "$sizes: $(fp8moe gate --local-num-experts $1 --top-k $2 | grep -o 'largest T.*')"; done
  256 8: largest T      gather 12
  128 8: largest T      gather 6
  64 8: largest T      gather 3
  32 8: largest T      gather 1
  16 8: largest T      gather none
  512 10: largest T      gather 20
  8 2: largest T      gather 1
  $ fp8moe gate --tokens 1,7..8,100 --top-k 8 --num-experts 256 --ep-size 4 | tail -n 5
         T   T * K     g  path
         1       8     8  gather
         7      56    56  stock
         8      64    64  stock
       100     800    64  stock
  $ for ratio in nan -1 0 1 1e300 inf; do echo "$ratio: $(fp8moe gate --tokens 4..5 --local-num-experts 32 --top-k 8 --ratio $ratio | grep -o 'largest T.*')"; done
  nan: largest T      gather none
  -1: largest T      gather none
  0: largest T      gather none
  1: largest T      gather 4
  1e300: largest T      gather any
  inf: largest T      gather any

Once a variable is given, all have upstream's defaults: GATHER is off. They are read as upstream reads them.

  $ fp8moe gate --tokens 1..2 --top-k 8 --local-num-experts 128 --env VLLM_HPU_MOE_GATHER_RATIO=0.6
  T = 1 to 2 stock: the variable does not ask for the gathered combine
    upstream       v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    sizes          K 8, E_local 128 of E 128
    largest T      gather none
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, assumed
      NO  GATHER is on                                   gather off, VLLM_HPU_MOE_GATHER is not set:
                                                         the variable does not ask for the gathered
                                                         combine
      yes the activation is silu                         activation silu, assumed
      yes activations are not quantised statically       activation_scheme dynamic, assumed
      yes weights are block-quantised                    block_quant on, assumed
      yes QUANT_CONFIG is not set                        quant_config off, QUANT_CONFIG is not set
      yes FORCE_CHANNEL is on                            force_channel on, VLLM_HPU_FORCE_CHANNEL_FP8
                                                         is not set
      T   T * K <= E_local * RATIO                       ratio 0.6, from VLLM_HPU_MOE_GATHER_RATIO: at
                                                         most 76.8
  
         T   T * K     g  path
         1       8     8  stock
         2      16    16  stock
  $ for value in 1 true TRUE yes on " 1" 0 ""; do echo "'$value': $(fp8moe gate --tokens 1 --top-k 8 --local-num-experts 128 --env "VLLM_HPU_MOE_GATHER=$value" | head -n 1)"; done
  '1': T = 1 gather
  'true': T = 1 gather
  'TRUE': T = 1 gather
  'yes': T = 1 stock: the variable does not ask for the gathered combine
  'on': T = 1 stock: the variable does not ask for the gathered combine
  ' 1': T = 1 stock: the variable does not ask for the gathered combine
  '0': T = 1 stock: the variable does not ask for the gathered combine
  '': T = 1 stock: the variable does not ask for the gathered combine
  $ for value in 0 no ""; do echo "'$value': $(fp8moe gate --upstream initial --tokens 1 --top-k 8 --local-num-experts 128 --env "HPU_MOE_GATHER=$value" | head -n 1)"; done
  '0': T = 1 gather
  'no': T = 1 gather
  '': T = 1 stock: the variable does not ask for the gathered combine
  $ fp8moe gate --tokens 1 --top-k 8 --local-num-experts 128 --env VLLM_HPU_MOE_GATHER=1 --env QUANT_CONFIG= | grep NO
      NO  QUANT_CONFIG is not set                        quant_config on, from QUANT_CONFIG:
  $ fp8moe gate --tokens 1 --top-k 8 --local-num-experts 128 --env VLLM_HPU_MOE_GATHER_RATIO=40%
  fp8moe: VLLM_HPU_MOE_GATHER_RATIO: upstream raises ValueError at import, could not convert string to float: '40%'
  [2]
  $ fp8moe gate --tokens 1 --top-k 8 --local-num-experts 128 --env HPU_MOE_GATHER=1
  fp8moe: v0.30 reads no variable HPU_MOE_GATHER
  [2]
  $ VLLM_HPU_MOE_GATHER=True fp8moe gate --tokens 1..7 --top-k 8 --local-num-experts 128 --from-environment | head -n 1
  T = 1 to 6 gather, 7 stock
  $ fp8moe gate --tokens 1..7 --top-k 8 --local-num-experts 128 --from-environment | head -n 1
  T = 1 to 7 stock: the variable does not ask for the gathered combine
  $ VLLM_HPU_MOE_GATHER=1 VLLM_HPU_MOE_GATHER_RATIO=0.2 sleep 20 & sleep 0.2; fp8moe gate --tokens 1..7 --top-k 8 --local-num-experts 128 --pid $! | grep -e ^T -e ratio; kill $!
  T = 1 to 3 gather, 4 to 7 stock
      T   T * K <= E_local * RATIO                       ratio 0.2, from VLLM_HPU_MOE_GATHER_RATIO: at
  $ fp8moe gate --tokens 1 --top-k 8 --local-num-experts 128 --pid 0
  fp8moe: --pid '0': expected the number of a process
  [2]

Versions: T * K <= MAX_TP, no combine, a fork's dense one; where two differ.

  $ for v in initial initial-vllm v0.26 v0.26-backport v0.30 dense-fork; do fp8moe gate --upstream $v --tokens 1..12 --top-k 8 --local-num-experts 64 | head -n 1; done
  T = 1 to 8 gather, 9 to 12 stock
  T = 1 to 8 gather, 9 to 12 stock
  T = 1 to 12 stock: this version has no gathered combine
  T = 1 to 3 gather, 4 to 12 stock
  T = 1 to 3 gather, 4 to 12 stock
  T = 1 to 3 gather, 4 to 12 stock
  $ fp8moe gate --upstream v0.26-backport --tokens 1 --top-k 8 --local-num-experts 64 | grep -A 2 note
    note           the conditions of v0.26-backport were not read in its source but taken to be those
                   of v0.30
  
  $ fp8moe gate --upstream dense-fork --tokens 3..5 --top-k 8 --local-num-experts 64 --env VLLM_HPU_MOE_GATHER=1 --env VLLM_HPU_MOE_DENSE_MAX_TOKENS=4
  T = 3 gather, 4 dense, 5 stock
    upstream       dense-fork: a public fork: v0.30, then a dense combine up to DENSE_MAX_TOKENS
                   tokens
    sizes          K 8, E_local 64 of E 64
    largest T      gather 3, dense 4
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, assumed
      yes GATHER is on                                   gather on, from VLLM_HPU_MOE_GATHER
      yes the activation is silu                         activation silu, assumed
      yes activations are not quantised statically       activation_scheme dynamic, assumed
      yes weights are block-quantised                    block_quant on, assumed
      yes QUANT_CONFIG is not set                        quant_config off, QUANT_CONFIG is not set
      yes FORCE_CHANNEL is on                            force_channel on, VLLM_HPU_FORCE_CHANNEL_FP8
                                                         is not set
      T   T * K <= E_local * RATIO                       ratio 0.4, VLLM_HPU_MOE_GATHER_RATIO is not
                                                         set: at most 25.6
  
    dense asks
      yes the experts are served by the FP8 method       method fp8, assumed
      yes DENSE_MAX_TOKENS is above 0                    dense_max_tokens 4, from
                                                         VLLM_HPU_MOE_DENSE_MAX_TOKENS
      yes the activation is silu                         activation silu, assumed
      yes activations are not quantised statically       activation_scheme dynamic, assumed
      yes weights are block-quantised                    block_quant on, assumed
      yes QUANT_CONFIG is not set                        quant_config off, QUANT_CONFIG is not set
      yes FORCE_CHANNEL is on                            force_channel on, VLLM_HPU_FORCE_CHANNEL_FP8
                                                         is not set
      yes experts have a gate projection                 gated on, assumed
      yes hidden states are dispatched before the layer  dispatch off, assumed
      T   T <= DENSE_MAX_TOKENS                          dense_max_tokens 4, from
                                                         VLLM_HPU_MOE_DENSE_MAX_TOKENS: at most 4
  
         T   T * K     g  path
         3      24    24  gather
         4      32    32  dense
         5      40    40  stock
  $ fp8moe gate --diff initial v0.30 --tokens 2..5 --top-k 8 --local-num-experts 64
  initial and v0.30 take different paths for 2 of 4 token counts
    upstream       initial: the first revisions of the pull request: HPU_ names, any text is true, T *
                   K <= MAX_TP
    against        v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    sizes          K 8, E_local 64 of E 64
    largest T      gather 8
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, assumed
      yes GATHER is on                                   gather on, assumed
      yes the activation is silu                         activation silu, assumed
      T   T * K <= MAX_TP                                max_tp 64, assumed: at most 64
  
         T   T * K     g  path    v0.30
         2      16    16  gather  gather
         3      24    24  gather  gather
         4      32    32  gather  stock
         5      40    40  gather  stock
  [1]
  $ fp8moe gate --diff v0.26-backport v0.30 --top-k 8 --local-num-experts 64 -o report.txt
  $ fp8moe gate --diff v0.30
  fp8moe: --diff takes two versions, and no --upstream
  [2]
  $ fp8moe gate --upstream v0.31 --top-k 8 --local-num-experts 64
  fp8moe: there is no version 'v0.31'; known are initial, initial-vllm, v0.26, v0.26-backport, v0.30, dense-fork
  [2]

Expectations decide the exit code.

  $ fp8moe gate --tokens 1..6 --top-k 8 --local-num-experts 128 --expect gather | head -n 1
  as expected: T = 1 to 6 gather
  $ fp8moe gate --tokens 1..7 --top-k 8 --local-num-experts 128 --expect gather -o report.txt
  [1]
  $ fp8moe gate --tokens 7..9 --top-k 8 --local-num-experts 128 --expect stock -o report.txt
  $ fp8moe gate --tokens 1 --top-k 8 --local-num-experts 128 --expect fused
  fp8moe: --expect 'fused': expected gather, stock or dense
  [2]

By the size of the group and the ratio:

  $ fp8moe gate --sweep --tokens 1 --top-k 8 --local-num-experts 64 | tail -n 9
    largest T that gathers, by ranks of the group and ratio
    ranks E_local   0.1   0.2   0.3   0.4   0.5   0.6   0.7   0.8   0.9   1.0
        1      64  none     1     2     3     4     4     5     6     7     8
        2      32  none  none     1     1     2     2     2     3     3     4
        4      16  none  none  none  none     1     1     1     1     1     2
        8       8  none  none  none  none  none  none  none  none  none     1
       16       4  none  none  none  none  none  none  none  none  none  none
       32       2  none  none  none  none  none  none  none  none  none  none
       64       1  none  none  none  none  none  none  none  none  none  none

A checkpoint's config.json says whether it can ever gather.

  $ mkdir block tensor; echo '{"model_type": "qwen3_moe", "hidden_size": 2048, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "hidden_act": "silu", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}' > block/config.json
  $ fp8moe gate --model block --tokens 6..7
  T = 6 gather, 7 stock
    upstream       v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    model          block
    sizes          K 8, E_local 128 of E 128
                   H 2048, I 768
    largest T      gather 6
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, from quant_method
      yes GATHER is on                                   gather on, assumed
      yes the activation is silu                         activation silu, from hidden_act
      yes activations are not quantised statically       activation_scheme dynamic, from
                                                         activation_scheme
      yes weights are block-quantised                    block_quant on, from weight_block_size
      yes QUANT_CONFIG is not set                        quant_config off, assumed
      yes FORCE_CHANNEL is on                            force_channel on, assumed
      T   T * K <= E_local * RATIO                       ratio 0.4, assumed: at most 51.2
  
         T   T * K     g  path
         6      48    48  gather
         7      56    56  stock
  
    MiB of weights a call reads and copies, and million multiply-adds; experts that
    uniform routing would reach here
         T  experts   all MiB    gather  + copied   stock M    gather     dense
         6     41.1     577.8     216.7    1009.3     226.5    1359.0    3623.9
         7     46.5     577.8     252.8    1177.5     264.2    1849.7    4227.9
  $ sed 's/, "weight_block_size": .128, 128.//' block/config.json > tensor/config.json; fp8moe gate --model tensor --tokens 1..2
  T = 1 to 2 stock: one scale a tensor or a row never becomes the row scales it reads
    upstream       v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    model          tensor
    sizes          K 8, E_local 128 of E 128
                   H 2048, I 768
    largest T      gather none
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, from quant_method
      yes GATHER is on                                   gather on, assumed
      yes the activation is silu                         activation silu, from hidden_act
      yes activations are not quantised statically       activation_scheme dynamic, from
                                                         activation_scheme
      NO  weights are block-quantised                    block_quant off, from weight_block_size: one
                                                         scale a tensor or a row never becomes the row
                                                         scales it reads
      yes QUANT_CONFIG is not set                        quant_config off, assumed
      yes FORCE_CHANNEL is on                            force_channel on, assumed
      T   T * K <= E_local * RATIO                       ratio 0.4, assumed: at most 51.2
  
         T   T * K     g  path
         1       8     8  stock
         2      16    16  stock
  
    MiB of weights a call reads and copies, and million multiply-adds; experts that
    uniform routing would reach here
         T  experts   all MiB    gather  + copied   stock M    gather     dense
         1      8.0     577.8      36.1     168.2      37.7      37.7     604.0
         2     15.5     577.8      72.2     336.4      75.5     151.0    1208.0
  
    what never gathers
      compressed-tensors FP8 (GLM-4.5, GLM-4.6, Llama 4): a method class of its own serves it, without
        a gathered combine
      per-tensor FP8 (Mixtral): its scales never become one a row: not block-quantised
      static activations: activation_scheme is static
      INC models (QUANT_CONFIG): QUANT_CONFIG turns FORCE_CHANNEL off, and INC patches the layer
      MXFP4 (gpt-oss): a method class of its own serves it
      other activations (gelu, relu2, SwiGLU-OAI): only silu is written there
      non-gated experts (Nemotron-H): their activation is relu2, not silu
      experts named in modules_to_not_convert: they stay unquantised: the FP8 method never sees them
  $ sed 's/"fp8"/"compressed-tensors"/' block/config.json > tensor/config.json; fp8moe gate --model tensor | head -n 1
  T = 1 to 32 stock: another method class serves the experts, and it has no such path
  $ sed 's/"dynamic"/"static"/' block/config.json > tensor/config.json; fp8moe gate --model tensor | head -n 1
  T = 1 to 32 stock: calibrated activation scales are left to the stock operation
  $ sed 's/"silu"/"gelu"/' block/config.json > tensor/config.json; fp8moe gate --model tensor | head -n 1
  T = 1 to 32 stock: only silu(gate) * up is written there
  $ fp8moe gate --model Qwen3-30B-A3B --ep-size 2 --tokens 3..4 | grep -v assumed
  T = 3 gather, 4 stock
    upstream       v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    model          Qwen3-30B-A3B
    sizes          K 8, E_local 64 of E 128
                   H 2048, I 768
    largest T      gather 3
  
    gather asks
  
         T   T * K     g  path
         3      24    24  gather
         4      32    32  stock
  
    MiB of weights a call reads and copies, and million multiply-adds; experts that
    uniform routing would reach here
         T  experts   all MiB    gather  + copied   stock M    gather     dense
         3     11.3     288.9     108.3     504.7      56.6     339.7     906.0
         4     14.6     288.9     144.4     672.9      75.5     604.0    1208.0
  $ fp8moe gate --model nowhere
  fp8moe: nowhere: there is no such folder
  [3]

What is no call:

  $ fp8moe gate --tokens 1..2000000 --top-k 1 --local-num-experts 4
  fp8moe: --tokens '1..2000000': expected T or FIRST..LAST
  [2]
  $ fp8moe gate --tokens 5..4 --top-k 1 --local-num-experts 4
  fp8moe: --tokens '5..4': expected T or FIRST..LAST
  [2]
  $ fp8moe gate --top-k 9 --num-experts 8
  fp8moe: K 9 and E_local 8: the model has 8 experts in all
  [2]
  $ fp8moe gate --top-k 8 --num-experts 128 --local-num-experts 256
  fp8moe: K 8 and E_local 256: the model has 128 experts in all
  [2]
  $ fp8moe gate --top-k 8 --num-experts 128 --ep-size 256
  fp8moe: 128 experts do not fill 256 ranks
  [2]

What it costs, and from the user's own figures what it gains:

  $ fp8moe gate --model block --tokens 1,6,20 --bandwidth 2400 --launch stock=50,gather=120 | sed -n '/crossover/,/compiler/p;/MiB/,$p'
    crossover      gather is predicted to be faster up to T 2 where every copy goes through memory, up
                   to T 11 where the compiler fuses all of them
    MiB of weights a call reads and copies, and million multiply-adds; experts that
    uniform routing would reach here
         T  experts   all MiB    gather  + copied   stock M    gather     dense  speed-up
         1      8.0     577.8      36.1     168.2      37.7      37.7     604.0  1.45 to 2.23
         6     41.1     577.8     216.7    1009.3     226.5    1359.0    3623.9  0.46 to 1.41
        20     92.8     577.8     577.8    2691.5     755.0   12079.6   12079.6  0.20 to 0.81
  $ fp8moe gate --top-k 8 --local-num-experts 128 --bandwidth 2400
  fp8moe: a prediction needs --bandwidth, and --model for the sizes of an expert
  [2]
  $ fp8moe gate --model block --bandwidth 2400 --launch fused=3
  fp8moe: --launch 'fused=3': expected stock=US,gather=US,dense=US
  [2]

A command line: batches come in buckets. At 256 sequences nine live requests are padded to 14, which goes to stock; the
last bucket that gathers is 8, not 12.

  $ fp8moe gate --serve 'VLLM_HPU_MOE_GATHER=1 vllm serve DeepSeek-V3 --max-num-seqs 256' --top-k 8 | sed -n '1p;/requests/,/15 to/p'
  T = 1 to 8 gather, 14 to 256 stock
       requests       T   T * K     g  path
              1       1       8     8  gather
              2       2      16    16  gather
         3 to 4       4      32    32  gather
         5 to 8       8      64    64  gather
        9 to 14      14     112   112  stock
       15 to 24      24     192   192  stock
  $ fp8moe gate --serve 'VLLM_HPU_MOE_GATHER=1 vllm serve block -tp 2 -ep --max-num-seqs 8 --speculative-config "{\"num_speculative_tokens\": 2}"' | grep -A 6 -e 'T   *bucket' -e requests
    T              bucket * (1 + speculative tokens); max_num_seqs 8, 2 speculative tokens, 1
                   data-parallel ranks
    largest T      gather 3
    note           T counts decode steps; a prefill of more tokens goes by the same rule
  
    gather asks
      yes the experts are served by the FP8 method       method fp8, from quant_method
  --
       requests       T   T * K     g  path
              1       3      24    24  gather
              2       6      48    48  stock
         3 to 4      12      96    64  stock
         5 to 6      18     144    64  stock
         7 to 8      24     192    64  stock
  
  $ fp8moe gate --serve 'vllm serve block -tp 3 -dp 2 --enable-expert-parallel --max-num-seqs 4' --env VLLM_HPU_MOE_GATHER=1 | sed -n '/^  T/,/3 ranks/p;/requests/,/3 to 4/p'
    T              bucket * data-parallel ranks; max_num_seqs 4, 0 speculative tokens, 2 data-parallel
                   ranks
                   the layer is taken to be sequence-parallel, as vLLM decides it: tokens are padded
                   to a multiple of 3 ranks
       requests       T   T * K     g  path
              1       6      48    21  stock
              2       6      48    21  stock
         3 to 4      12      96    21  stock
  $ fp8moe gate --serve 'vllm serve block -tp 3 -dp 2 --enable-expert-parallel --all2all-backend pplx --max-num-seqs 4' --env VLLM_HPU_MOE_GATHER=1 | sed -n '/requests/,/3 to 4/p'
       requests       T   T * K     g  path
              1       2      16    16  stock
              2       4      32    21  stock
         3 to 4       8      64    21  stock
  $ fp8moe gate --serve 'vllm serve block -tp 4 --max-num-seqs 1' --env VLLM_HPU_MOE_GATHER=1 | grep -e slice -e ' I '
                   H 2048, I 192
    note           I is that of a tensor-parallel slice, one of 4
  $ fp8moe gate --serve 'vllm serve block --enforce-eager' | grep -B 1 -A 2 -e eager -e 'not ask'
  T = 1 to 256 stock: the variable does not ask for the gathered combine
    upstream       v0.30: as merged for v0.30.0: T * K <= E_local * RATIO
    model          block
  --
    largest T      gather none
    note           --enforce-eager: the stock operation runs as the vendor's eager decomposition
                   (recipe stock-eager)
                   T counts decode steps; a prefill of more tokens goes by the same rule
  
  --
      NO  GATHER is on                                   gather off, VLLM_HPU_MOE_GATHER is not set:
                                                         the variable does not ask for the gathered
                                                         combine
      yes the activation is silu                         activation silu, from hidden_act
  $ fp8moe gate --serve 'VLLM_HPU_MOE_GATHER=1 vllm serve block --quantization inc' | grep -e ^T -e NO
  T = 1 to 256 stock: another method class serves the experts, and it has no such path
      NO  the experts are served by the FP8 method       method inc, from --quantization: another
  $ fp8moe gate --serve 'VLLM_HPU_MOE_GATHER=1 VLLM_EXPONENTIAL_BUCKETING=false vllm serve block' | grep -A 1 BUCKETING
    note           VLLM_EXPONENTIAL_BUCKETING=false is not taken into account: the buckets are those
                   of the default exponential strategy (--tokens gives others)
  $ fp8moe gate --serve 'vllm serve org/model --max-num-seqs 8'
  fp8moe: gate needs --top-k or --model: the model of --serve is no folder here and none that this command knows
  [2]
  $ fp8moe gate --serve 'vllm serve "block'
  fp8moe: --serve: a quote has no end
  [2]

JSON:

  $ fp8moe gate --model block --tokens 6..7 --sweep --bandwidth 2400 --format json > a.json; validate a.json; query a.json reason largest_tokens.gather rows.1.first_no rows.0.conditions.7.right rows.0.cost.gather.experts_read prediction.crossover_no_copy
  a.json: fp8moe.gate/1: valid
  T = 6 gather, 7 stock
  6
  size
  51.2
  48
  15
  $ fp8moe gate --diff v0.26 v0.30 --tokens 4 --top-k 8 --local-num-experts 128 --format json > b.json; validate b.json; query b.json rows.0.path rows.0.other_path exit
  b.json: fp8moe.gate/1: valid
  stock
  gather
  1
  $ fp8moe gate --serve 'vllm serve block -dp 2 --max-num-seqs 8' --ratio nan --expect stock --format json > c.json; validate c.json; query c.json decode_steps rows.0.conditions.7.value
  c.json: fp8moe.gate/1: valid
  {"max_num_seqs": 8, "max_num_seqs_assumed": false, "speculative_tokens": 0, "parallel_factor": 2, "sequence_parallel": 1}
  nan
