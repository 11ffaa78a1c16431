Help goes to standard output and exits 0.

  $ fp8moe version
  fp8moe 0.1.0
  $ fp8moe --version
  fp8moe 0.1.0
  $ fp8moe help
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
  $ fp8moe help compare
  fp8moe compare: compare tensors of two files, A being the reference, or a file's custom and stock
  
  Usage: fp8moe compare [OPTIONS] A[:NAME] [B[:NAME]]
  
  Without names every tensor that both files hold is compared; one name stands for both sides; of a
  file that holds one tensor it is taken whatever its name. Shapes must be equal, leading dimensions
  of size 1 apart. A file whose own name holds a colon is found first. One file alone is one of
  upstream's pairs (moecomb_T*_n*_r*.pt): its custom is held against its stock.
  
  Under the strict policy two tensors are the same when non-finite elements agree, at least 99 % of
  the elements that are not zero on both sides are identical and none is both more than 2 bf16 steps
  and more than 1e-6 of its row's largest magnitude away. A pass under a looser bar that an output 50
  % off, or all zeros, would have got too is inconclusive.
  
  Options:
    --as NAME=DTYPE (may be repeated)
        read a tensor's bytes as e4m3fn, e5m2, bf16 or f16
    --grid row|tensor|unscaled
        grid on which FP8 steps are counted
    --policy strict|upstream|ulp:N|FILE.yaml
        what counts as the same: every rounding, upstream's bar, N FP8 steps, or a rule a tensor
    --inconclusive fail|pass
        exit 1 or 0 instead of 4 where nothing could be concluded
    --dtype f32|bf16|f16|e4m3fn|...
        what is no file of tensors is bare numbers of this dtype, with --shape
    --shape T=..,E=..,K=..,H=..,I=.. or 4x512
        tokens, experts, experts a token, hidden, intermediate; for bare numbers their shape
    --format text|json
        form of the report (default text)
    -o FILE
        where the report goes; for run, synth and prepare: where the tensors go
    --help
        this help
  
  Exit codes: 0 same (or done), 1 different, 2 usage, 3 unreadable input, 4 inconclusive or nothing to
  judge, 5 internal or unfit arithmetic. Over many inputs the worst counts: 5, 3, 2, 1, 4, 0.
  
  Example:
    fp8moe compare layer.safetensors:stock layer.safetensors:custom
  $ fp8moe compare --help | head -n 1
  fp8moe compare: compare tensors of two files, A being the reference, or a file's custom and stock
  $ fp8moe help names
  Names of tensors understood (--name FIELD=NAME gives any other name a meaning):
  
    hidden_states             hidden_states, x, input
    router_logits             router_logits
    topk_ids                  topk_ids, expert_routing_table
    topk_weights              topk_weights, router_weights
    e_score_correction_bias   e_score_correction_bias
    w13_weight                w13_weight, w13, w12
    w13_weight_scale          w13_weight_scale, d_scale_w12, w13_scale, w13_scale_inv, w12_scale,
                              w12_scale_inv
    w13_input_scale           w13_input_scale, d_scale_hidden_states, w12_input_scale
    w2_weight                 w2_weight, w2, w3
    w2_weight_scale           w2_weight_scale, d_scale_w3, w2_scale, w2_scale_inv, w3_scale,
                              w3_scale_inv
    w2_input_scale            w2_input_scale, d_scale_intermediate_hidden_states, w3_input_scale
    weight                    weight
    weight_scale              weight_scale, weight_scale_inv
    input_scale               input_scale, weight_input_scale
  
  Behind a stem such as w13, _weight may stand: w13_weight_scale_inv.
  w3 is the op's down projection [H, I]; a square one is refused, see --name.
  
  Outputs, each judged (custom under recipe gather, stock under stock):
    output, out, out0, ref_output, custom, stock
  
  Intermediates, compared by name and taken with --from:
    x_codes, x_scale, up_gate, activation, act_codes, act_scale, expert_output
  $ for command in verify compare run inspect synth recipes doctor; do fp8moe help $command || echo failed; done | awk 'length > 100'
