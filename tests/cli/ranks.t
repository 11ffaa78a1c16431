The ranks of one layer: each rank's share of the weight must show in its output, and their sum be the reduced one.

  $ for r in 0 1 2 3; do fp8moe synth --shape T=6,E=8,K=3,H=64,I=32 --recipe exact --target gaudi2 --ep-size 4 --ep-rank $r -o full$r.safetensors > /dev/null; done
  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=32 --recipe exact --target gaudi2 -o whole.safetensors > /dev/null
  $ sum_outputs whole.safetensors full0.safetensors full1.safetensors full2.safetensors full3.safetensors
  4 parts add up
  $ only() { edit_dump $1 $2 $(for t in hidden_states router_logits w13_weight w13_weight_scale_inv w2_weight w2_weight_scale_inv topk_ids topk_weights; do echo drop:$t; done); }; declare -f only > only; . ./only; only whole.safetensors r.safetensors
  $ fp8moe ranks full0.safetensors full1.safetensors full2.safetensors full3.safetensors --reduced r.safetensors
  same: 4 ranks: every rank returned what its weight promises, and their sum is the reduced output
    rank 0         experts 0 to 1: 11.25 % of the weight, 2.505 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 1         experts 2 to 3: 27.86 % of the weight, 15.48 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 2         experts 4 to 5: 19.72 % of the weight, 43.26 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 3         experts 6 to 7: 41.17 % of the weight, 38.76 % of the energy
                   judged: same, recipe exact (evidence: definition)
    sum            rel-L2 0 from the reduced output; bf16 additions, whose order is unknown, allow
                   0.0156

A lost rank returns nothing for its weight, and the reduced output says whose sum it is.

  $ edit_dump full2.safetensors lost.safetensors zero:output
  $ fp8moe ranks full0.safetensors full1.safetensors lost.safetensors full3.safetensors --reduced r.safetensors
  different: 4 ranks: rank 2 was given 19.7 % of the weight and returned 0: lost, or its ids are taken
    as local ones and none is one of its list
    rank 0         experts 0 to 1: 11.25 % of the weight, 4.415 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 1         experts 2 to 3: 27.86 % of the weight, 27.28 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 2         experts 4 to 5: 19.72 % of the weight, 0 % of the energy
                   judged: different, recipe exact (evidence: definition)
                   was given 19.7 % of the weight and returned 0: lost, or its ids are taken as local
                   ones and none is one of its list
    rank 3         experts 6 to 7: 41.17 % of the weight, 68.31 % of the energy
                   judged: same, recipe exact (evidence: definition)
    sum            rel-L2 0.855 from the reduced output; bf16 additions, whose order is unknown, allow
                   0.0156
  [1]
  $ fp8moe ranks full0.safetensors full1.safetensors full3.safetensors; fp8moe ranks full0.safetensors full1.safetensors full3.safetensors --reduced r.safetensors | tail -n 3
  inconclusive: 3 ranks: this looks like a missing rank: some experts are of no dump
    rank 0         experts 0 to 1: 11.25 % of the weight, 4.415 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 1         experts 2 to 3: 27.86 % of the weight, 27.28 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 3         experts 6 to 7: 41.17 % of the weight, 68.31 % of the energy
                   judged: same, recipe exact (evidence: definition)
    missing        experts 4 to 5, with 19.72 % of the weight, are of no dump: a rank is missing
    missing        experts 4 to 5, with 19.72 % of the weight, are of no dump: a rank is missing
    sum            rel-L2 0.855 from the reduced output; bf16 additions, whose order is unknown, allow
                   0.0117

Dumps without weights: the rows of zeros tell whose window an output answers to.

  $ fp8moe run full2.safetensors --ep-rank 3 -o s.safetensors > /dev/null; edit_dump full2.safetensors f.safetensors drop:output; join_dumps f.safetensors s.safetensors shifted.safetensors output
  $ bare() { edit_dump $1 $2 drop:w13_weight drop:w13_weight_scale_inv drop:w2_weight drop:w2_weight_scale_inv; }; for f in full0 full1 full3 shifted; do bare $f.safetensors bare_$f.safetensors; done
  $ fp8moe ranks bare_full0.safetensors bare_full1.safetensors bare_shifted.safetensors bare_full3.safetensors
  different: 4 ranks: rank 2 is shifted by +1: it computed the slots of experts 6 to 7, which are rank
    3's
    rank 0         experts 0 to 1: 11.25 % of the weight, 2.681 % of the energy
                   not judged: no w13_weight
    rank 1         experts 2 to 3: 27.86 % of the weight, 16.57 % of the energy
                   not judged: no w13_weight
    rank 2         experts 4 to 5: 19.72 % of the weight, 39.27 % of the energy
                   not judged: no w13_weight
                   is shifted by +1: it computed the slots of experts 6 to 7, which are rank 3's
    rank 3         experts 6 to 7: 41.17 % of the weight, 41.49 % of the energy
                   not judged: no w13_weight
  [1]

With weights each rank is judged, and emulated as the others where it is not what it should be: K is so large here that
every token goes to every rank.

  $ make() { fp8moe synth --shape T=6,E=8,K=7,H=64,I=32 --recipe $1 --target gaudi2 --ep-size 4 --ep-rank $2 -o $3 > /dev/null; }; as() { edit_dump $1 f.safetensors drop:output; fp8moe run f.safetensors $2 -o s.safetensors > /dev/null; join_dumps f.safetensors s.safetensors $3 output; }; declare -f make as > made
  $ . ./made; for r in 0 1 2 3; do make gather $r g$r.safetensors; make stock $r k$r.safetensors; done
  $ . ./made; as g2.safetensors "--ep-rank 3" shifted.safetensors; fp8moe ranks g0.safetensors g1.safetensors shifted.safetensors g3.safetensors
  different: 4 ranks: rank 2 is shifted by +1: it computed the slots of experts 6 to 7, which are rank
    3's
    rank 0         experts 0 to 1: 12.87 % of the weight, 2.76 % of the energy
                   judged: same, recipe gather (evidence: source)
    rank 1         experts 2 to 3: 26.53 % of the weight, 15.9 % of the energy
                   judged: same, recipe gather (evidence: source)
    rank 2         experts 4 to 5: 20.57 % of the weight, 38.24 % of the energy
                   judged: different, recipe gather (evidence: source)
                   is shifted by +1: it computed the slots of experts 6 to 7, which are rank 3's
    rank 3         experts 6 to 7: 40.03 % of the weight, 43.09 % of the energy
                   judged: same, recipe gather (evidence: source)
  [1]

Ids taken as indices of the local list: an open axis of stock, and no axis of gather.

  $ . ./made; for r in 1 2 3; do as k$r.safetensors "--ep-rank 0" d$r.safetensors; done; fp8moe ranks k0.safetensors d1.safetensors d2.safetensors d3.safetensors
  different: 4 ranks: 3 of 4 ranks stand out; rank 1 takes ids as indices of its own list (direct): it
    computed the slots of experts 0 to 1, which are rank 0's
    rank 0         experts 0 to 1: 12.87 % of the weight, 6.157 % of the energy
                   judged: same, recipe stock (evidence: inferred)
    rank 1         experts 2 to 3: 26.53 % of the weight, 27.74 % of the energy
                   judged: same, recipe stock (evidence: inferred) with ids index the local list
                   takes ids as indices of its own list (direct): it computed the slots of experts 0
                   to 1, which are rank 0's
    rank 2         experts 4 to 5: 20.57 % of the weight, 13.44 % of the energy
                   judged: same, recipe stock (evidence: inferred) with ids index the local list
                   takes ids as indices of its own list (direct): it computed the slots of experts 0
                   to 1, which are rank 0's
    rank 3         experts 6 to 7: 40.03 % of the weight, 52.66 % of the energy
                   judged: same, recipe stock (evidence: inferred) with ids index the local list
                   takes ids as indices of its own list (direct): it computed the slots of experts 0
                   to 1, which are rank 0's
  [1]
  $ . ./made; as g3.safetensors "--ep-rank 0" d3.safetensors; fp8moe ranks g0.safetensors g1.safetensors g2.safetensors d3.safetensors | head -n 3
  different: 4 ranks: rank 3 takes ids as indices of its own list (direct): it computed the slots of
    experts 0 to 1, which are rank 0's
    rank 0         experts 0 to 1: 12.87 % of the weight, 3.557 % of the energy
  $ fp8moe ranks g0.safetensors k1.safetensors g2.safetensors g3.safetensors --recipe gather | grep -A 2 'rank 1'
  different: 4 ranks: rank 1 differs from recipe gather: 365 elements lie outside what any rounding of
    recipe gather gives, the first at token 0 column 0
    rank 0         experts 0 to 1: 12.87 % of the weight, 2.871 % of the energy
  --
    rank 1         experts 2 to 3: 26.53 % of the weight, 16.63 % of the energy
                   judged: different, recipe gather (evidence: source)
                   differs from recipe gather: 365 elements lie outside what any rounding of recipe

Ids in the vendor's eager decomposition:

  $ . ./made; for r in 0 1 2 3; do make stock-eager $r f.safetensors; edit_dump f.safetensors e$r.safetensors meta:recipe=stock; done; fp8moe ranks e0.safetensors e1.safetensors e2.safetensors e3.safetensors
  different: 4 ranks: 4 of 4 ranks stand out; rank 0 computed as the vendor's eager decomposition does
    (recipe stock-eager): it takes ids as indices of its own list, and never undoes the scale of the
    intermediate
    rank 0         experts 0 to 1: 12.87 % of the weight, 3.303 % of the energy
                   judged: same, recipe stock-eager (evidence: source)
                   computed as the vendor's eager decomposition does (recipe stock-eager): it takes
                   ids as indices of its own list, and never undoes the scale of the intermediate
    rank 1         experts 2 to 3: 26.53 % of the weight, 15.32 % of the energy
                   judged: same, recipe stock-eager (evidence: source)
                   computed as the vendor's eager decomposition does (recipe stock-eager): it takes
                   ids as indices of its own list, and never undoes the scale of the intermediate
    rank 2         experts 4 to 5: 20.57 % of the weight, 3.968 % of the energy
                   judged: same, recipe stock-eager (evidence: source)
                   computed as the vendor's eager decomposition does (recipe stock-eager): it takes
                   ids as indices of its own list, and never undoes the scale of the intermediate
    rank 3         experts 6 to 7: 40.03 % of the weight, 77.41 % of the energy
                   judged: same, recipe stock-eager (evidence: source)
                   computed as the vendor's eager decomposition does (recipe stock-eager): it takes
                   ids as indices of its own list, and never undoes the scale of the intermediate
  [1]
  $ fp8moe ranks e0.safetensors e1.safetensors e2.safetensors e3.safetensors --format json > e.json; validate e.json; query e.json ranks.1.ids ranks.1.judged.recipe
  e.json: fp8moe.ranks/1: valid
  eager
  stock-eager

What is reduced otherwise: twice, averaged, not at all.

  $ scale_output r.safetensors twice.safetensors 4; fp8moe ranks full?.safetensors --reduced twice.safetensors | tail -n 1
                   the reduced output: it is the sum times 4: reduced twice
  $ scale_output r.safetensors mean.safetensors 0.25; fp8moe ranks full?.safetensors --reduced mean.safetensors | tail -n 1
                   the reduced output: it is the sum divided by 4: averaged
  $ . ./only; only full1.safetensors one.safetensors; fp8moe ranks full?.safetensors --reduced one.safetensors | tail -n 1
                   the reduced output: it is the output of rank 1 alone: nothing was reduced

Tensor-parallel slices hold the same experts.

  $ for r in 0 1; do fp8moe synth --shape T=6,E=8,K=3,H=64,I=256 --recipe exact --target gaudi2 --tp-size 2 --tp-rank $r -o t$r.safetensors > /dev/null; done
  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=256 --recipe exact --target gaudi2 -o whole.safetensors > /dev/null; sum_outputs whole.safetensors t0.safetensors t1.safetensors
  2 parts add up
  $ . ./only; only whole.safetensors r2.safetensors; fp8moe ranks t0.safetensors t1.safetensors --reduced r2.safetensors
  same: 2 ranks: every rank returned what its weight promises, and their sum is the reduced output
    rank 0/0       experts 0 to 7: 100 % of the weight, 49.25 % of the energy
                   judged: same, recipe exact (evidence: definition)
    rank 0/1       experts 0 to 7: 100 % of the weight, 50.75 % of the energy
                   judged: same, recipe exact (evidence: definition)
    sum            rel-L2 1.97e-16 from the reduced output; bf16 additions, whose order is unknown,
                   allow 0.00792
  $ fp8moe ranks t1.safetensors | head -n 1
  inconclusive: 1 rank: these are tensor-parallel slices: 1 of 2 are missing
  $ for r in 0 1; do edit_dump t$r.safetensors u$r.safetensors unmeta:tp_rank unmeta:tp_size; done; fp8moe ranks u0.safetensors u1.safetensors | grep -A 1 slices
    slices         dumps of the same experts have other outputs: this looks like tensor-parallel
                   slices (--tp-rank names them)
  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=256 --recipe exact --target gaudi2 --tp-size 4 -o t.safetensors
  fp8moe: --tp-size 4 does not slice I 256 into whole scale blocks
  [2]
  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=256 --recipe exact --target gaudi2 --ep-size 3 -o t.safetensors
  fp8moe: --ep-size 3 does not divide 8 experts
  [2]
  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=256 --recipe exact --target gaudi2 --ep-rank 3 -o t.safetensors
  fp8moe: ranks count from 0 and end below their number: --ep-rank needs --ep-size, --tp-rank --tp-size
  [2]

An output that is a part of what its weights give: named by ranks, and by verify in a note.

  $ with() { edit_dump $1 f.safetensors drop:output; join_dumps f.safetensors $2 $3 output; }; declare -f with > with; . ./with; with whole.safetensors t1.safetensors slice.safetensors; fp8moe ranks slice.safetensors
  different: 1 rank: rank 0 looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give
    it (slice 1 of 2)
    rank 0         experts 0 to 7: 100 % of the weight, 100 % of the energy
                   judged: different, recipe exact (evidence: definition)
                   looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give it
                   (slice 1 of 2)
  [1]
  $ fp8moe verify slice.safetensors | grep -A 1 -e ^d -e slice
  different: output differs from recipe exact (evidence: definition): 384 elements lie outside what
  any rounding of recipe exact gives, the first at token 0 column 0
  --
  slice.safetensors: different
    metadata       op moe, target gaudi2, recipe exact, weights_stage checkpoint, top_k 3, num_experts
  --
    note           output looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give
                   it (slice 1 of 2)
  $ . ./with; for recipe in gather stock dense dequant; do make() { fp8moe synth --shape T=6,E=8,K=3,H=64,I=256 --recipe $recipe --target gaudi2 -o $1.safetensors ${@:2} > /dev/null; }; make all; make tp --tp-size 2 --tp-rank 1; make ep --ep-size 4 --ep-rank 2; for f in tp ep; do with all.safetensors $f.safetensors a.safetensors; fp8moe ranks a.safetensors | grep '^ .*looks'; done; done
                   looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give it
                   looks like one rank's part: local experts 4 to 5 alone give it
                   looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give it
                   looks like one rank's part: local experts 4 to 5 alone give it
                   looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give it
                   looks like one rank's part: local experts 4 to 5 alone give it
                   looks like a tensor-parallel slice: columns 128 to 255 of I 256 alone give it
                   looks like one rank's part: local experts 4 to 5 alone give it
  $ . ./with; fp8moe synth --shape T=6,E=8,K=3,H=64,I=32 --recipe exact --target gaudi2 -o whole.safetensors > /dev/null; add_outputs three.safetensors full0.safetensors full1.safetensors full3.safetensors; with whole.safetensors three.safetensors without.safetensors; fp8moe ranks without.safetensors
  different: 1 rank: rank 0 looks like a missing rank: all but local experts 4 to 5 give it
    rank 0         experts 0 to 7: 100 % of the weight, 100 % of the energy
                   judged: different, recipe exact (evidence: definition)
                   looks like a missing rank: all but local experts 4 to 5 give it
  [1]
  $ fp8moe verify without.safetensors | grep looks
    note           output looks like a missing rank: all but local experts 4 to 5 give it
  $ fp8moe synth --shape T=3,E=8,K=3,H=64,I=32 --recipe exact --target gaudi2 -o short.safetensors > /dev/null; edit_dump whole.safetensors f.safetensors drop:hidden_states drop:router_logits; join_dumps f.safetensors short.safetensors fewer.safetensors hidden_states; fp8moe verify fewer.safetensors
  fp8moe: fewer.safetensors: tensor 'topk_ids': [6, 3] has 6 rows, hidden_states 3: were they not dispatched (all-gathered) as the routing was?
  [3]

Upstream's verify mode: the maxima of all ranks are reduced, and every rank warns alike. One NaN hides the rest.

  $ for r in 0 1 2 3; do edit_dump g$r.safetensors c$r.safetensors rename:output=custom copy:custom=stock; done; fp8moe ranks c?.safetensors | sed -n '/verify/,$p'
    verify mode    max FP8-ULP 0, relative error 0 over the ranks: upstream is silent
                   rank 0: FP8-ULP 0, relative error 0
                   rank 1: FP8-ULP 0, relative error 0
                   rank 2: FP8-ULP 0, relative error 0
                   rank 3: FP8-ULP 0, relative error 0
  $ edit_dump c1.safetensors e1.safetensors 'set:stock[1]=40' 'set:stock[0]=00'; fp8moe ranks c0.safetensors e1.safetensors c2.safetensors c3.safetensors | sed -n '/verify/,$p'
    verify mode    max FP8-ULP 39, relative error 0 over the ranks: upstream warns, on every rank
                   alike
                   rank 0: FP8-ULP 0, relative error 0
                   rank 1: FP8-ULP 39, relative error 0
                   rank 2: FP8-ULP 0, relative error 0
                   rank 3: FP8-ULP 0, relative error 0
  $ edit_dump c2.safetensors e2.safetensors 'set:stock[0]=c0' 'set:stock[1]=7f' 'set:custom[0]=c0' 'set:custom[1]=ff'; fp8moe ranks c0.safetensors e1.safetensors e2.safetensors c3.safetensors | sed -n '/verify/,$p'
    verify mode    max FP8-ULP nan, relative error 0 over the ranks: upstream is silent
                   what the device's reduction makes of a NaN is unpublished; here it stays
                   rank 0: FP8-ULP 0, relative error 0
                   rank 1: FP8-ULP 39, relative error 0
                   rank 2: FP8-ULP nan, relative error 0
                   rank 3: FP8-ULP 0, relative error 0

What is no set of ranks.

  $ fp8moe ranks full0.safetensors full0.safetensors full1.safetensors full2.safetensors full3.safetensors | grep twice | tail -n 1
                   stands twice: two dumps of one output say ep_rank 0
  $ fp8moe ranks full0.safetensors g1.safetensors full2.safetensors full3.safetensors | head -n 2
  different: 4 ranks: rank 1 has ids of 6 tokens, 7 each, rank 0 of 6 tokens, 3 each: not one call of
    a layer
  $ fp8moe synth --shape T=6,E=8,K=3,H=64,I=32 --recipe exact --target gaudi2 --seed 9 --ep-size 4 --ep-rank 1 -o other.safetensors > /dev/null; fp8moe ranks full0.safetensors other.safetensors full2.safetensors full3.safetensors | grep -A 1 otherwise
  different: 4 ranks: rank 1 was routed otherwise than rank 0, in 16 of 18 ids: not one call of a
    layer
  --
                   was routed otherwise than rank 0, in 16 of 18 ids: not one call of a layer
    rank 2         experts 4 to 5: 19.72 % of the weight, 41.82 % of the energy
  $ edit_dump full0.safetensors few.safetensors shape:hidden_states=3x128 && fp8moe ranks few.safetensors
  fp8moe: few.safetensors: hidden_states has 3 token rows, topk_ids 6: x was not dispatched (all-gathered) as the ids were
  [3]
  $ . ./made; edit_dump g1.safetensors n.safetensors 'set:output[0]=c0' 'set:output[1]=7f' drop:w2_weight drop:w2_weight_scale_inv; fp8moe ranks g0.safetensors n.safetensors g2.safetensors g3.safetensors
  different: 4 ranks: rank 1 returned 1 values that are not finite
    rank 0         experts 0 to 1: 12.87 % of the weight, 2.874 % of the energy
                   judged: same, recipe gather (evidence: source)
    rank 1         experts 2 to 3: 26.53 % of the weight, 16.56 % of the energy
                   not judged: no w2_weight
                   returned 1 values that are not finite
    rank 2         experts 4 to 5: 20.57 % of the weight, 35.7 % of the energy
                   judged: same, recipe gather (evidence: source)
    rank 3         experts 6 to 7: 40.03 % of the weight, 44.87 % of the energy
                   judged: same, recipe gather (evidence: source)
  [1]
  $ edit_dump full0.safetensors f.safetensors dtype:topk_ids=F64 && fp8moe ranks f.safetensors
  fp8moe: f.safetensors: topk_ids are F64 and topk_weights F32: integers and floats are expected
  [3]
  $ edit_dump full0.safetensors f.safetensors dtype:topk_weights=I32 && fp8moe ranks f.safetensors
  fp8moe: f.safetensors: topk_ids are I64 and topk_weights I32: integers and floats are expected
  [3]
  $ edit_dump full0.safetensors f.safetensors empty:topk_ids empty:topk_weights drop:hidden_states && fp8moe ranks f.safetensors
  fp8moe: f.safetensors: the output has no row for each of 0 tokens
  [3]
  $ edit_dump full0.safetensors none.safetensors drop:output && fp8moe ranks none.safetensors
  fp8moe: none.safetensors: ranks needs one output a dump, or custom among them; here are 0
  [3]
  $ fp8moe ranks full0.safetensors t0.safetensors full2.safetensors full3.safetensors --reduced full0.safetensors
  fp8moe: full0.safetensors: --reduced takes a file of one tensor, this holds 9
  [2]

JSON:

  $ fp8moe ranks full0.safetensors full1.safetensors lost.safetensors full3.safetensors --reduced r.safetensors --format json > a.json; validate a.json; query a.json verdict ranks.2.finding ranks.1.ids ranks.1.judged.verdict reduced.reason
  a.json: fp8moe.ranks/1: valid
  different
  was given 19.7 % of the weight and returned 0: lost, or its ids are taken as local ones and none is one of its list
  offset
  same
  null
  $ fp8moe ranks k0.safetensors d1.safetensors d2.safetensors --format json > b.json; validate b.json; query b.json ranks.0.ids ranks.1.ids ranks.1.acts_as ranks.1.judged.axis missing
  b.json: fp8moe.ranks/1: valid
  null
  direct
  0
  ids index the local list
  [{"first_expert": 6, "last_expert": 7, "weight_share": 0.40034632959287203, "not_finite": 0}]
  $ fp8moe ranks c0.safetensors e1.safetensors e2.safetensors c3.safetensors --format json > c.json; validate c.json; query c.json verify_mode ranks.1.verify_mode
  c.json: fp8moe.ranks/1: valid
  {"ulp": null, "relative": 0, "warns": false, "not_finite": 1}
  {"ulp": 39, "relative": 0, "warns": true, "not_finite": 0}
