Dumped ids and weights against the router logits: identical, a tie, a flip within a step, wrong.

  $ make_routing a.safetensors "4 3 1 0/0 1 3 4" "0 1/3 2" "0.731058597564697 0.268941432237625/0.731058597564697 0.268941432237625"; fp8moe route a.safetensors
  same: a.safetensors
                   2 tokens are routed as their logits choose, weights included
    tokens         2 of 2 experts each, 4 experts
    ids            identical 2
    weights        step 2
    margins        0 tokens could flip under one bf16 step, 0 of them ties; the smallest other margin
                   is 192 steps
    experts        4 of 4 here get tokens; uniform routing would reach 3.0
    worst          token 0: weight of slot 0 is 0.7310586, expected 0.7310585 (1.53e-05 steps)
                   token 1: weight of slot 0 is 0.7310586, expected 0.7310585 (1.53e-05 steps)
  $ make_routing tie.safetensors "4 3 3 0" "0 2" "0.731058597564697 0.268941432237625"; fp8moe route tie.safetensors
  same: tie.safetensors
                   1 tokens are routed as their logits choose, weights included
    tokens         1 of 2 experts each, 4 experts
    ids            tie 1
    weights        step 1
    margins        1 tokens could flip under one bf16 step, 1 of them ties
    flips          token 0: expert 2 for 1 at 0 steps would move 26.9 % of the weight
    experts        2 of 4 here get tokens; uniform routing would reach 2.0
    worst          token 0: tie, slot 1, 0 steps; weight of slot 0 is 0.7310586, expected 0.7310585
                   (1.53e-05 steps); its logits choose 0 1
  $ make_routing step.safetensors "4 3 2.984375 0" "0 2"; fp8moe route step.safetensors
  same: step.safetensors
                   1 tokens are routed as their logits choose
    tokens         1 of 2 experts each, 4 experts
    ids            step 1
    margins        1 tokens could flip under one bf16 step, 0 of them ties; the smallest other margin
                   is 1 steps
    flips          token 0: expert 2 for 1 at 1 steps would move 27 % of the weight
    experts        2 of 4 here get tokens; uniform routing would reach 2.0
    worst          token 0: step, slot 1, 1 steps; its logits choose 0 1
    note           the dump holds no topk_weights: ids were judged alone
  $ make_routing wrong.safetensors "4 3 2.984375 0/4 3 2 0" "0 1/0 2"; fp8moe route wrong.safetensors
  different: wrong.safetensors
                   1 of 2 tokens went to experts that their logits do not choose
    tokens         2 of 2 experts each, 4 experts
    ids            identical 1, wrong 1
    margins        1 tokens could flip under one bf16 step, 0 of them ties; the smallest other margin
                   is 1 steps
    flips          token 0: expert 2 for 1 at 1 steps would move 27 % of the weight
    experts        3 of 4 here get tokens; uniform routing would reach 3.0
    worst          token 1: wrong, slot 1, 64 steps; its logits choose 0 1
    note           the dump holds no topk_weights: ids were judged alone
  [1]
  $ make_routing weights.safetensors "4 3 1 0" "0 1" "0.5 0.5"; fp8moe route weights.safetensors
  different: weights.safetensors
                   the experts of 1 of 1 tokens are right, their weights are not
    tokens         1 of 2 experts each, 4 experts
    ids            identical 1
    weights        wrong 1
    margins        0 tokens could flip under one bf16 step, 0 of them ties; the smallest other margin
                   is 192 steps
    experts        2 of 4 here get tokens; uniform routing would reach 2.0
    worst          token 0: weight of slot 1 is 0.5, expected 0.2695312 (118 steps)
  [1]
  $ make_routing twice.safetensors "4 3 1 0" "0 0"; fp8moe route twice.safetensors | grep -e ^d -e worst
  different: twice.safetensors
    worst          token 0: an id stands twice; its logits choose 0 1

Order does not matter; -1 is a slot that was masked out; without ids there are margins alone.

  $ make_routing b.safetensors "4 3 1 0/4 3 1 0/4 3 1 0" "1 0/-1 1/-1 -1"; fp8moe route b.safetensors | grep -e same -e ids
  same: b.safetensors
    ids            unjudged 1, identical 2
    note           the dump holds no topk_weights: ids were judged alone
  $ make_routing c.safetensors "4 3 2.984375 0/5 1 0 4"; fp8moe route c.safetensors --top-k 2
  inconclusive: c.safetensors
                   the dump holds no topk_ids: margins only
    tokens         2 of 2 experts each, 4 experts
    margins        1 tokens could flip under one bf16 step, 0 of them ties; the smallest other margin
                   is 1 steps
    flips          token 0: expert 2 for 1 at 1 steps would move 27 % of the weight
  [4]
  $ fp8moe route c.safetensors
  fp8moe: c.safetensors: router_logits without topk_ids need top_k
  [2]
  $ make_routing d.safetensors "4 3 1 0" "0 4"; fp8moe route d.safetensors
  fp8moe: d.safetensors: tensor 'topk_ids': token 0, slot 1: id 4 is outside the model's 4 experts
  [3]

What is not finite: a stated result, and never one expert twice.

  $ make_routing n.safetensors "nan 3 1 0/inf 3 1 0/-inf 3 1 0" "0 1/0 1/1 2" "nan nan/nan nan/0.880797088146210 0.119202919304371"; fp8moe route n.safetensors
  same: n.safetensors
                   3 tokens are routed as their logits choose, weights included
    tokens         3 of 2 experts each, 4 experts
    ids            identical 3
    weights        identical 3
    margins        2 tokens could flip under one bf16 step, 2 of them ties; the smallest other margin
                   is 190 steps
    flips          token 0: expert 2 for 0 at 0 steps; its weights are not finite
                   token 1: expert 2 for 0 at 0 steps; its weights are not finite
    experts        3 of 4 here get tokens; uniform routing would reach 3.5
    note           3 tokens have NaN or Inf among their logits
  $ make_routing m.safetensors "nan 3 1 0" "1 2"; fp8moe route m.safetensors | grep -e ^d -e worst
    worst          token 0: tie, slot 1, 0 steps; its logits choose 0 1

Every rule has its options; where the settings are others, the report says which would fit.

  $ make_routing s.safetensors "2 1 0 -1" "0 1" "0.880797088146210 0.731058597564697"; fp8moe route s.safetensors --scoring-func sigmoid --no-renormalize | head -n 1
  same: s.safetensors
  $ fp8moe route s.safetensors | grep -e ^d -e fits
  different: s.safetensors
    fits           no token is wrong with --no-renormalize and --scoring-func sigmoid
  $ make_routing f.safetensors "4 3 1 0" "0 1" "1.827646493911743 0.672353565692902"; fp8moe route f.safetensors --routed-scaling-factor 2.5 | head -n 1; fp8moe route f.safetensors | grep ^d
  same: f.safetensors
  different: f.safetensors
  $ make_routing t.safetensors "4 3 1 0" "0 1" "0.731058597564697 0.268941432237625"; fp8moe route t.safetensors --scoring-func softmax-topk | head -n 1
  same: t.safetensors
  $ make_routing l.safetensors "1 2 0 0" "1" "0.880797088146210"; fp8moe route l.safetensors --scoring-func top1-sigmoid | head -n 1
  same: l.safetensors
  $ make_routing g.safetensors "9 0 3 3" "2 3"; fp8moe route g.safetensors --n-group 2 --topk-group 1 | grep -e ^d -e worst
  different: g.safetensors
    worst          token 0: wrong, slot 0, 208 steps; its logits choose 0 1
  $ make_routing h.safetensors "9 0 3 3" "2 3" - "0 0 1 1"; fp8moe route h.safetensors --n-group 2 --topk-group 1 --scoring-func sigmoid | head -n 2
  same: h.safetensors
                   1 tokens are routed as their logits choose
  $ fp8moe route h.safetensors --n-group 2 --topk-group 3 --scoring-func sigmoid
  fp8moe: h.safetensors: topk_group 3 is outside 1..2 (n_group)
  [3]
  $ fp8moe route g.safetensors --n-group 3
  fp8moe: g.safetensors: n_group 3 does not divide 4 experts
  [3]
  $ fp8moe route h.safetensors --scoring-func softmax-topk
  fp8moe: h.safetensors: softmax-topk chooses by the logits: it takes neither groups nor a correction bias
  [2]
  $ fp8moe route t.safetensors --scoring-func tanh
  fp8moe: --scoring-func 'tanh': expected one of softmax, sigmoid, softmax-topk, top1-sigmoid
  [2]

What a flip would change: with the layer's weights, the output's row; the layer's own dump, one token at a time.

  $ fp8moe synth --shape T=40,E=16,K=4,H=64,I=32 --recipe gather --target gaudi2 -o layer.safetensors > /dev/null; fp8moe route layer.safetensors
  same: layer.safetensors
                   40 tokens are routed as their logits choose, weights included
    tokens         40 of 4 experts each, 16 experts
    ids            identical 40
    weights        identical 40
    margins        2 tokens could flip under one bf16 step, 0 of them ties; the smallest other margin
                   is 0.264 steps
    flips          token 33: expert 8 for 7 at 0.264 steps would move 4.01 % of the weight, the output
                   by 6.63 % (rel-L2)
                   token 1: expert 4 for 1 at 1 steps would move 4.72 % of the weight, the output by
                   3.99 % (rel-L2)
    experts        16 of 16 here get tokens; uniform routing would reach 16.0
  $ edit_dump layer.safetensors bare.safetensors drop:w13_weight drop:w13_weight_scale_inv; fp8moe route bare.safetensors | grep -A 1 flips
    flips          token 1: expert 4 for 1 at 1 steps would move 4.72 % of the weight
                   token 33: expert 8 for 7 at 0.264 steps would move 4.01 % of the weight
  $ edit_dump layer.safetensors plain.safetensors nometa; fp8moe route plain.safetensors --recipe dequant --target gaudi2 --weights-stage checkpoint | grep -A 3 flips
    flips          token 33: expert 8 for 7 at 0.264 steps would move 4.01 % of the weight, the output
                   by 6.74 % (rel-L2)
                   token 1: expert 4 for 1 at 1 steps would move 4.72 % of the weight, the output by
                   3.91 % (rel-L2)

JSON:

  $ fp8moe route wrong.safetensors n.safetensors --format json > a.json; validate a.json; query a.json verdict dumps.0.ids dumps.0.flips.0.flip_ids dumps.0.worst.0.own_ids dumps.1.tokens_not_finite
  a.json: fp8moe.route/1: valid
  different
  {"unjudged": 0, "identical": 1, "tie": 0, "step": 0, "wrong": 1}
  [0, 2]
  [0, 1]
  3
  $ fp8moe route layer.safetensors --format json > b.json; validate b.json; query b.json dumps.0.flips_recipe dumps.0.flips.count dumps.0.flips.0.own_ids dumps.0.flips.0.flip_ids dumps.0.flips.0.output_change
  b.json: fp8moe.route/1: valid
  gather
  2
  [5, 9, 11, 7]
  [5, 9, 11, 8]
  0.06634744101429871
  $ fp8moe route missing.safetensors
  fp8moe: missing.safetensors: cannot open: no such file or folder (errno 2)
  [3]
