/* Files of a model folder: indexes, shards, and where a path may lead. */
#include "made_checkpoint.h"
#include "shards.h"
/* last: cmocka takes a name of ours */
#include "model_folders.h"

/* An index names a shard that is missing, and a tensor that its shard lacks. */
static void test_indexes_that_lie(void **state)
{
    static const char first_shard[] = "/model-00001-of-00002.safetensors";
    fp8moe_tensor t;
    fp8moe_error err;
    double value;
    (void)state;
    const char *const folder = new_folder();
    write_one(folder, first_shard + 1);
    write_text(
        folder, "model.safetensors.index.json",
        "{\"metadata\": {}, \"weight_map\": {\"w\": \"model-00001-of-00002.safetensors\", \"b\": "
        "\"model-00002-of-00002.safetensors\", \"c\": \"model-00001-of-00002.safetensors\"}}");
    fp8moe_checkpoint *const model = open_ok(folder);
    assert_false(fp8moe_checkpoint_config(model)->found);
    assert_int_equal(fp8moe_checkpoint_tensor_count(model), 3);
    assert_int_equal(fp8moe_checkpoint_shard_count(model), 2);
    assert_int_equal(fp8moe_checkpoint_tensor(model, "w", &t, NULL), FP8MOE_OK);
    fp8moe_tensor_read_f64(&t, 0, 1, &value);
    assert_true(value == 1);
    expect_error(&err, fp8moe_checkpoint_tensor(model, "b", &t, &err), FP8MOE_ERR_IO,
                 "/model-00002-of-00002.safetensors", "b", "no such file");
    expect_error(&err, fp8moe_checkpoint_tensor(model, "c", &t, &err), FP8MOE_ERR_NOT_FOUND,
                 first_shard, "c",
                 "not in model-00001-of-00002.safetensors, although the index says so");
    expect_error(&err, fp8moe_checkpoint_tensor(model, "d", &t, &err), FP8MOE_ERR_NOT_FOUND, folder,
                 "d", "no such tensor");
    fp8moe_checkpoint_close(model);
}

static void test_paths_that_leave_are_refused(void **state)
{
    static const char *const names[] = {"../x.safetensors", "/etc/hostname",
                                        "a/../../x.safetensors", "..", ""};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char index[256];
        fp8moe_tensor t;
        fp8moe_error err;
        const char *const folder = new_folder();
        (void)snprintf(index, sizeof index, "{\"weight_map\": {\"w\": \"%s\"}}", names[i]);
        write_text(folder, "model.safetensors.index.json", index);
        fp8moe_checkpoint *const model = open_ok(folder);
        expect_error(&err, fp8moe_checkpoint_tensor(model, "w", &t, &err), FP8MOE_ERR_FORMAT,
                     folder, "w", "leaves the model folder");
        fp8moe_checkpoint_close(model);
    }
}

/* model.safetensors as a link to `target`. */
static void link_model(const char *folder, const char *target)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(symlink(target, path), 0);
}

static void test_symbolic_links(void **state)
{
    char outside[64], repository[128], snapshot[160], blobs[160], link_of_folder[96];
    (void)state;
    (void)snprintf(outside, sizeof outside, "%s", new_folder());
    write_one(outside, "real.safetensors");

    const char *folder = new_folder(); /* within the folder */
    write_one(folder, "other.safetensors");
    link_model(folder, "other.safetensors");
    fp8moe_checkpoint_close(open_ok(folder));

    folder = new_folder(); /* out of it */
    link_model(folder, in(outside, "real.safetensors"));
    expect_open_error(folder, FP8MOE_ERR_FORMAT, "/model.safetensors",
                      "a symbolic link leads out of the model folder");

    folder = new_folder(); /* to nothing */
    link_model(folder, "absent.safetensors");
    expect_open_error(folder, FP8MOE_ERR_IO, "/model.safetensors",
                      "a symbolic link to a file that is not there");

    folder = new_folder(); /* to itself */
    link_model(folder, "model.safetensors");
    expect_open_error(folder, FP8MOE_ERR_IO, "/model.safetensors", "cannot be opened");

    /* a cache that itself lies in a folder of that name */
    (void)snprintf(repository, sizeof repository, "%s/snapshots", new_folder());
    assert_int_equal(mkdir(repository, 0755), 0);
    (void)strcat(repository, "/models--org--name");
    (void)snprintf(blobs, sizeof blobs, "%s/blobs", repository);
    (void)snprintf(snapshot, sizeof snapshot, "%s/snapshots", repository);
    assert_int_equal(mkdir(repository, 0755) | mkdir(blobs, 0755) | mkdir(snapshot, 0755), 0);
    (void)snprintf(snapshot, sizeof snapshot, "%s/snapshots/0123abc", repository);
    assert_int_equal(mkdir(snapshot, 0755), 0);
    write_one(blobs, "c0ffee");
    link_model(snapshot, "../../blobs/c0ffee");
    fp8moe_checkpoint_close(open_ok(snapshot));
    (void)snprintf(link_of_folder, sizeof link_of_folder, "%s/link", outside);
    assert_int_equal(symlink(snapshot, link_of_folder), 0);
    fp8moe_checkpoint_close(open_ok(link_of_folder));

    assert_int_equal(unlink(in(snapshot, "model.safetensors")),
                     0); /* a snapshot's link elsewhere */
    link_model(snapshot, in(outside, "real.safetensors"));
    expect_open_error(snapshot, FP8MOE_ERR_FORMAT, "/model.safetensors",
                      "leads out of the model folder");

    assert_int_equal(unlink(in(snapshot, "model.safetensors")),
                     0); /* a folder that only starts like blobs */
    (void)snprintf(blobs, sizeof blobs, "%s/blobs-of-others", repository);
    assert_int_equal(mkdir(blobs, 0755), 0);
    write_one(blobs, "c0ffee");
    link_model(snapshot, "../../blobs-of-others/c0ffee");
    expect_open_error(snapshot, FP8MOE_ERR_FORMAT, "/model.safetensors",
                      "leads out of the model folder");
}

static void test_folders_that_are_none(void **state)
{
    char path[1024];
    (void)state;
    expect_open_error(in(base, "absent"), FP8MOE_ERR_IO, "absent", "there is no such folder");
    const char *const folder = new_folder();
    expect_open_error(folder, FP8MOE_ERR_IO, folder,
                      "neither model.safetensors.index.json nor model.safetensors");
    expect_open_error(in(folder, "/"), FP8MOE_ERR_IO, folder, "neither");
    link_model(folder, "absent");
    (void)snprintf(path, sizeof path, "%s/model.safetensors", folder);
    expect_open_error(in(folder, ""), FP8MOE_ERR_IO, path, "is a symbolic link");
    assert_int_equal(unlink(path), 0);
    write_one(folder, "model.safetensors");
    expect_open_error(path, FP8MOE_ERR_IO, path, "is no folder");
}

static void test_broken_indexes(void **state)
{
    static const struct {
        const char *text, *sentence;
        int64_t offset;
    } rows[] = {
        {"[]", "must have an object \"weight_map\"", 0},
        {"{\"weight_map\": 3}", "must have an object \"weight_map\"", 15},
        {"{\"weight_map\": {\"a\": 1}}",
         "must name a file for every tensor, this one is a whole number", 21},
        {"{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}", "\"a\" appears twice", 26},
        {"{\"weight_map\": {\"a\\u001b[2J\": \"x\"}}", "control character", 16},
        {"{\"weight_map\": {\"a\": \"x\\n\"}}", "a file's name holds a control character", 21},
        {"{\"weight_map\": {", "JSON ends where", 16},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_checkpoint *model = NULL;
        fp8moe_error err;
        const char *const folder = new_folder();
        write_text(folder, "model.safetensors.index.json", rows[i].text);
        expect_error(&err, fp8moe_checkpoint_open(folder, &model, &err), FP8MOE_ERR_FORMAT,
                     "/model.safetensors.index.json", "", rows[i].sentence);
        assert_int_equal(err.offset, rows[i].offset);
    }
}

/* Shards that were only looked at are closed, those whose views are out are not; a file's own names
 * are the table where there is no index. */
static const made_model small = {.prefix = "model.layers.0.mlp.",
                                 .scale_suffix = "_scale_inv",
                                 .scale_dtype = FP8MOE_DTYPE_F32,
                                 .experts = 4,
                                 .hidden = 8,
                                 .inter = 8,
                                 .block_rows = 4,
                                 .block_cols = 4,
                                 .shards = 2};

static void test_shards_are_held_and_dropped(void **state)
{
    fp8moe_tensor t;
    model_folder f = {0};
    shards all = {0};
    (void)state;
    const char *const made = new_folder();
    made_model_write(&small, made);
    assert_int_equal(folder_open(made, &f, NULL), FP8MOE_OK);
    assert_int_equal(shards_open(&f, &all, NULL), FP8MOE_OK);
    assert_int_equal(all.file_count, 2);
    assert_int_equal(shards_tensor(&all, "model.layers.0.mlp.experts.0.up_proj.weight", &t, NULL),
                     FP8MOE_OK);
    const fp8moe_dump *const first = all.files[0].dump;
    assert_int_equal(shards_tensor(&all, "model.layers.0.mlp.experts.1.up_proj.weight", &t, NULL),
                     FP8MOE_OK);
    assert_ptr_equal(all.files[0].dump, first);
    shards_hold(&all);
    assert_int_equal(shards_tensor(&all, "model.layers.0.mlp.experts.3.up_proj.weight", &t, NULL),
                     FP8MOE_OK);
    assert_non_null(all.files[1].dump);
    shards_drop(&all);
    assert_ptr_equal(all.files[0].dump, first);
    assert_null(all.files[1].dump);
    shards_close(&all);
    folder_close(&f);

    const char *const single = new_folder();
    write_one(single, "model.safetensors");
    assert_int_equal(folder_open(single, &f, NULL), FP8MOE_OK);
    assert_int_equal(shards_open(&f, &all, NULL), FP8MOE_OK);
    shards_drop(&all);
    assert_non_null(all.files[0].dump);
    shards_close(&all);
    folder_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indexes_that_lie),
        cmocka_unit_test(test_paths_that_leave_are_refused),
        cmocka_unit_test(test_symbolic_links),
        cmocka_unit_test(test_folders_that_are_none),
        cmocka_unit_test(test_broken_indexes),
        cmocka_unit_test(test_shards_are_held_and_dropped),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
