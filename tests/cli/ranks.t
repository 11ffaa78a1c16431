Expert-parallel ranks of one layer: each rank's share of the weight must show in its output, and their sum be the reduced one.

  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=32 --recipe exact --target gaudi2 -o whole.safetensors > /dev/null
  $ split_ranks whole.safetensors 4
  $ for r in 0 1 2 3; do fp8moe run rank$r.safetensors --recipe exact -o out$r.safetensors > /dev/null; join_dumps rank$r.safetensors out$r.safetensors full$r.safetensors output; done
  $ edit_dump whole.safetensors r.safetensors rename:output=reduced && for t in hidden_states router_logits w13_weight w13_weight_scale_inv w2_weight w2_weight_scale_inv topk_ids topk_weights; do edit_dump r.safetensors r.safetensors drop:$t; done
  $ fp8moe ranks full0.safetensors full1.safetensors full2.safetensors full3.safetensors --reduced r.safetensors
  same: 4 ranks
    rank 0         experts 0 to 1: 11.25 % of the weight, 2.505 % of the energy
    rank 1         experts 2 to 3: 27.86 % of the weight, 15.48 % of the energy
    rank 2         experts 4 to 5: 19.72 % of the weight, 43.26 % of the energy
    rank 3         experts 6 to 7: 41.17 % of the weight, 38.76 % of the energy
    sum            rel-L2 0 from the reduced output; bf16 additions, whose order is unknown, allow
                   0.0156

A lost rank returns nothing for its weight, and the reduced output says whose sum it is.

  $ edit_dump full2.safetensors lost.safetensors zero:output
  $ fp8moe ranks full0.safetensors full1.safetensors lost.safetensors full3.safetensors --reduced r.safetensors
  different: 4 ranks
    rank 0         experts 0 to 1: 11.25 % of the weight, 4.415 % of the energy
    rank 1         experts 2 to 3: 27.86 % of the weight, 27.28 % of the energy
    rank 2         experts 4 to 5: 19.72 % of the weight, 0 % of the energy
                   was given 19.7 % of the weight and returned 0: lost, or its ids are taken as local
                   ones
    rank 3         experts 6 to 7: 41.17 % of the weight, 68.31 % of the energy
    sum            rel-L2 0.855 from the reduced output; bf16 additions, whose order is unknown, allow
                   0.0156
  [1]
  $ fp8moe ranks full0.safetensors full1.safetensors full3.safetensors lost.safetensors --format json | grep -c lost
  1
  $ fp8moe ranks full0.safetensors full0.safetensors | grep twice
                   stands twice: two dumps say ep_rank 0
  $ fp8moe ranks rank0.safetensors
  fp8moe: rank0.safetensors: ranks needs one output a dump, here are 0
  [3]
