"""Mistakes in run files and data: each has its message and its exit code.

usage: mistakes_test.py SNUG     SNUG is the program
"""

import json

import snug_case
from snug_case import ArraysCase, npy


class RunFileMistakes(ArraysCase):
    def test_unknown_section(self):
        self.edit("model:", "modell:")
        self.refuses(2, "snug fit: run.yaml:2: ", '"modell" is no section', "did you mean model?")

    def test_unknown_key_of_fit(self):
        self.edit("epochs: 2", "epoch: 2")
        self.refuses(2, "run.yaml:11: ", '"epoch" is no setting of fit', "did you mean epochs?")

    def test_unknown_setting_of_a_layer(self):
        self.edit("units: 16", "unit: 16")
        self.refuses(2, "run.yaml:3: ", '"unit" is no setting of dense', "did you mean units?")
        self.edit("- dropout: 0.1", "- reshape: [4, 4, 1]\n  - conv2d: 4\n  - flatten")
        self.refuses(2, "run.yaml:5: ", "conv2d: ", "kernel_size")

    def test_unknown_layer(self):
        self.edit("- dropout: 0.1", "- dropuot: 0.1")
        self.refuses(2, "run.yaml:4: ", "dropuot", "dropout")

    def test_a_layer_that_merges_gets_one_value(self):
        for layer in ("add", "multiply", "average", "maximum", "minimum", "concatenate", "subtract", "dot: 1"):
            self.edit("- dropout: 0.1", "- " + layer)
            self.refuses(2, "run.yaml:4: ", layer.split(":")[0] + ": it merges several values", "in C++", ".keras file")

    def test_unknown_activation(self):
        self.edit("activation: relu", "activation: rellu")
        self.refuses(2, "run.yaml:3: ", "rellu", "relu")

    def test_unknown_loss_optimizer_metric_callback(self):
        self.edit("loss: binary_crossentropy", "loss: binary_crosentropy")
        self.refuses(2, "run.yaml:7: ", 'did you mean "binary_crossentropy"?')
        self.edit("optimizer: adam", "optimizer: adamm")
        self.refuses(2, "run.yaml:8: ", "adamm", 'did you mean "adam"?')
        self.edit("[accuracy]", "[accuracy, acuracy]")
        self.refuses(2, "run.yaml:9: ", "acuracy")
        self.edit("epochs: 2", "epochs: 2\n  callbacks: [early_stoping: {patience: 3}]")
        self.refuses(2, "run.yaml:12: ", "early_stoping", 'did you mean "early_stopping"?')

    def test_unknown_setting_of_an_object(self):
        self.edit("optimizer: adam", "optimizer: {adam: {learning_rte: 0.1}}")
        self.refuses(2, "run.yaml:8: ", "learning_rte", "did you mean learning_rate?")
        self.edit("epochs: 2", "epochs: 2\n  callbacks: [early_stopping: {patence: 3}]")
        self.refuses(2, "run.yaml:12: ", "patence", "did you mean patience?")

    def test_wrong_type(self):
        self.edit("epochs: 2", "epochs: two")
        self.refuses(2, 'run.yaml:11: fit.epochs is "two"; it must be a whole number')
        self.edit("units: 16", "units: [16]")
        self.refuses(2, "run.yaml:3: ", "model.0.dense.units is a list; it must be a whole number")
        self.edit("optimizer: adam", "optimizer: {adam: {learning_rate: fast}}")
        self.refuses(2, "run.yaml:8: ", '"fast"', "it must be a number")
        self.edit("epochs: 2", "epochs: 2\n  memory: much")
        self.refuses(2, "run.yaml:12: ", "much")
        self.edit("epochs: 2", "epochs: -2")
        self.refuses(2, "run.yaml:11: ", '"-2"')

    def test_numbers_in_quotes_are_words(self):
        for quoted in ('"16"', "'16'"):
            self.edit("units: 16", f"units: {quoted}")
            self.refuses(2, 'run.yaml:3: model.0.dense.units is "16" in quotes', "write it without them")
        self.edit("epochs: 2", 'epochs: "two"')
        self.assertNotIn("quotes", self.refuses(2, 'fit.epochs is "two"; it must be a whole number'))

    def test_a_colon_without_a_blank(self):
        for old, new, said in (("dropout: 0.1", "dropout:0.1", "dropout: 0.1"), ("units: 16", "units:16", "units: 16"),
                               ("optimizer: adam", "optimizer: {adam:0.1}", "adam: 0.1"), ("  epochs: 2", "  epochs: 2\n  callbacks: [csv_logger:log.csv]",
                                                                                      "csv_logger: log.csv")):
            self.edit(old, new)
            self.refuses(2, "run.yaml:", f"a colon has a blank behind it: {said}")

    def test_impossible_values(self):
        self.edit("- dropout: 0.1", "- dropout: 1.5")
        self.refuses(2, "run.yaml:4: ", "1.5")
        self.edit("batch_size: 16", "batch_size: 0")
        self.refuses(2, "run.yaml:10: ", 'batch_size is "0"')
        self.edit("epochs: 2", "epochs: 2\n  validation_split: 1")
        self.refuses(2, "run.yaml:12: ", 'validation_split is "1"')

    def test_budgets_that_are_none(self):
        for command in ("fit", "plan", "evaluate", "predict"):
            output = ("--output", "o.csv") if command == "predict" else ()
            self.passes("fit", "run.yaml")
            self.refuses(2, "--memory 0: a budget of 0", "leave memory out", words=(command, "run.yaml", "--memory", "0", *output))
        for budget, part in (("0MiB", "a budget of 0"), ("64", "give one such as 64MiB"), ("-1", "write it as 256MiB"),
                             ("-64MiB", "write it as 256MiB"), ("1e9", "write it as 256MiB"), ("", "--memory has no value")):
            self.refuses(2, "--memory", part, words=("fit", "run.yaml", "--memory", budget))
        self.edit("epochs: 2", "epochs: 2\n  memory: 0")
        self.refuses(2, "run.yaml:12: a budget of 0", "leave memory out")

    def test_messages_name_what_the_user_knows(self):
        """No function of the library, no temporary file, no memory that threads without number would take."""
        for command in ("fit", "plan"):
            line = self.refuses(2, f"snug {command}: run.yaml: validation_split 0.999 leaves 0 of 100 rows", "give another share",
                                words=(command, "run.yaml", "fit.validation_split=0.999"))
            self.assertNotIn("fit: ", line.replace("snug fit: ", ""))
        for words in (("plan", "run.yaml", "--html"), ("plan", "run.yaml", "--curve"), ("plan", "run.yaml", "--dump-problem"),
                      ("predict", "run.yaml", "--output"), ("convert", "x.keras")):
            self.refuses(6, "nosuch/o.csv: there is no folder nosuch; make it", words=(*words, "nosuch/o.csv"))
        self.refuses(2, "--threads 100000", "1024 at most", "cores", words=("fit", "run.yaml", "--threads", "100000"))
        self.refuses(2, "with a blank behind the colon", words=("fit", "run.yaml", "fit.class_weight={0:2}"))
        self.write("bad.keras", "hello")
        self.refuses(6, "give a model that Keras or snug has saved", words=("convert", "bad.keras", "m.h5"))

    def test_float16_is_refused_by_name(self):
        self.edit("units: 16,", "units: 16, dtype: float16,")
        self.refuses(2, "run.yaml:3: ", "dense", "float16", "float32")
        self.edit("units: 16,", "units: 16, dtype: float32,")
        self.passes("fit", "run.yaml")

    def test_duplicate_key(self):
        self.edit("epochs: 2", "epochs: 2\n  batch_size: 32")
        self.refuses(2, 'run.yaml:12: "batch_size" is given twice (first at run.yaml:10)')

    def test_no_yaml(self):
        self.write("run.yaml", "fit: [1, 2\nmodel: 3\n")
        self.refuses(2, "run.yaml:", "this is no YAML")
        self.write("run.yaml", "")
        self.refuses(2, "run.yaml: it is empty")
        self.write("run.yaml", "- a\n")
        self.refuses(2, "run.yaml:1: ", "a map with the sections data, model and fit")

    def test_run_files_may_be_long_and_utf_16(self):
        """A run of a wide table writes such ones; what is longer is data."""
        self.write("run.yaml", self.RUN_FILE + "# a long comment\n" * 100000)
        self.passes("fit", "run.yaml")
        self.write("run.yaml", self.RUN_FILE.encode("utf-16"))
        self.passes("fit", "run.yaml")
        self.write("run.yaml", "#" * (17 << 20))
        self.refuses(2, f"this is no run file, for it has {17 << 20} bytes", "snug check run.yaml")

    def test_forms_that_are_another(self):
        self.write("run.yaml", self.RUN_FILE.replace("  loss", "\tloss"))
        self.refuses(2, "run.yaml:", "this is no YAML", "a line begins with a tab")
        self.write("run.yaml", "fit: {loss: mse\n")
        self.refuses(2, "a bracket that is not closed")
        start, end = self.RUN_FILE.index("model:"), self.RUN_FILE.index("fit:")
        for model, part in (("dense", 'model is "dense"; it must be a list of layers'), ("[]", "model has no layers"),
                            ("{dense: 3}", "such as [dense: {units: 10}]")):
            self.write("run.yaml", f"{self.RUN_FILE[:start]}model: {model}\n{self.RUN_FILE[end:]}")
            self.refuses(2, "run.yaml:2: ", part)
        self.edit("epochs: 2", "epochs: 2\n  validation_data: x.npy")
        self.refuses(2, "run.yaml:12: ", "data: {train: ..., validation: ...}")
        self.edit("train: {x: x.npy, y: y.npy}", "train: rows.parquet, label: y")
        self.refuses(2, 'run.yaml:1: data.train is "rows.parquet"', "save other tables as CSV")
        self.edit("{train: {x: x.npy, y: y.npy}}", "rows.csv")
        self.refuses(2, 'run.yaml:1: data is "rows.csv"', "{train: rows.csv, label: COLUMN}")
        self.edit("activation: sigmoid", "activation: relu")
        self.assertNotIn("compile:", self.refuses(2, "run.yaml:7: dense"))

    def test_missing_parts(self):
        self.edit("  loss: binary_crossentropy\n", "")
        self.refuses(2, "run.yaml:", "there is no loss")
        self.write("run.yaml", self.RUN_FILE[:self.RUN_FILE.index("fit:")])
        self.refuses(2, "run.yaml: there is no fit")
        self.write("run.yaml", self.RUN_FILE[self.RUN_FILE.index("model:"):])
        self.refuses(2, "run.yaml: there is no data")
        self.write("run.yaml", self.RUN_FILE[:self.RUN_FILE.index("model:")] + self.RUN_FILE[self.RUN_FILE.index("fit:"):])
        self.refuses(2, "run.yaml: there is no model")

    def test_shape_that_does_not_fit(self):
        self.edit("- dropout: 0.1", "- conv2d: {filters: 4, kernel_size: 3}")
        self.refuses(2, "run.yaml:4: ", "conv2d", "[rows, 16]")
        self.edit("model:", "model:\n  - input: [9]")
        self.refuses(2, "run.yaml", "[8]", "[9]")

    def test_loss_that_does_not_fit_the_labels(self):
        self.edit("units: 1,", "units: 3,")
        self.refuses(2, "run.yaml:7: ", "binary_crossentropy", "[3]")

    def test_loss_that_does_not_fit_the_model(self):
        self.edit("activation: sigmoid", "activation: softmax")
        self.refuses(2, "run.yaml:7: ", "softmax")


    def test_settings_in_the_wrong_place(self):
        line = ("fit", "run.yaml")
        self.refuses(2, "fit.optimizer.adam.learning_rate=0.1", words=(*line, "fit.learning_rate=0.1"))
        self.refuses(2, "fit.optimizer.sgd.learning_rate=0.1", words=(*line, "fit.learning_rate=0.1", "fit.optimizer=sgd"))
        self.refuses(2, "fit.optimizer.adam.learning_rate=0.1", words=(*line, "fit.optimizer.learning_rate=0.1"))
        self.refuses(2, "callbacks: [early_stopping: {patience: 3}]", words=(*line, "fit.patience=3"))
        self.refuses(2, "model.0 is dense", "model.0.dense.units", words=(*line, "model.0.units=3"))
        self.passes(*line, "fit.optimizer.adam.learning_rate=0.1", "model.0.dense.units=3", "model.1.dropout=0.3")

    def test_numbers_that_cannot_be_are_named_where_they_stand(self):
        for setting in ("fit.batch_size=0", "fit.validation_split=1.5", "fit.validation_split=-0.1",
                        "fit.optimizer={adam: -0.1}"):
            self.refuses(2, f"snug fit: {setting}: ", words=("fit", "run.yaml", setting))


    def test_class_weights_that_say_nothing(self):
        for value, part in (("{7: 2}", "names the class 7, but the model tells 2 apart, 0 to 1"),
                            ("{0: 0, 1: 0}", "is 0 for every class, so nothing would be learned"),
                            ("balanced", "a weight for each class, such as {0: 1, 1: 5}"),
                            ("{1: -3}", "class 1 is -3, which would raise its loss")):
            self.refuses(2, part, words=("fit", "run.yaml", f"fit.class_weight={value}"))
        self.passes("fit", "run.yaml", "fit.class_weight={0: 0}")

    def test_factors_below_zero(self):
        for setting, part in (("model.0.dense.kernel_regularizer={l2: -1}", "l2 is -1; it must be a number of 0 or more"),
                              ("fit.optimizer={adamw: {weight_decay: -1}}", "weight_decay is -1"),
                              ("fit.optimizer={sgd: {learning_rate: {exponential_decay: {initial_learning_rate: -1}}}}",
                               "learning_rate is -1, which would raise the loss")):
            self.refuses(2, part, words=("fit", "run.yaml", setting))


class DataMistakes(ArraysCase):
    def test_missing_files(self):
        self.refuses(6, "nosuch.yaml", "No such file", words=("fit", "nosuch.yaml"))
        self.edit("x: x.npy", "x: nosuch.npy")
        self.refuses(6, "run.yaml:1: ", "nosuch.npy", "No such file")

    def test_damaged_file(self):
        (self.folder / "x.npy").write_bytes(b"hello")
        self.refuses(4, "x.npy")

    def test_no_data(self):
        self.passes("fit", "run.yaml")
        for command in (("fit",), ("evaluate",), ("predict", "--output", "o.csv")):
            self.refuses(2, "last.keras: there is no data for the model", "data.x=x.npy data.y=y.npy",
                         words=(command[0], "runs/run/1/last.keras", *command[1:]))
        self.write("none.npy", npy((0, 8), []))
        self.write_labels([])
        self.refuses(4, "snug fit: the data has no rows: ", "none.npy", words=("fit", "run.yaml", "data.x=none.npy"))
        self.refuses(2, "snug convert: out.txt ends in neither", words=("convert", "runs/run/1/last.keras", "out.txt"))

    def test_rows_that_differ(self):
        self.write_labels([0, 1, 0])
        self.refuses(2, "run.yaml:1: ", "100", "3")

    def test_label_out_of_range(self):
        self.edit("units: 1, activation: sigmoid", "units: 3, activation: softmax",
                  "binary_crossentropy", "sparse_categorical_crossentropy")
        self.write_labels([i % 3 if i != 77 else 9 for i in range(self.ROWS)])
        self.refuses(4, "77", "9")
        summary = json.loads(self.read("runs/run/1/summary.json"))
        self.assertEqual(summary["exit"], 4)
        self.assertIn("77", summary["error"])

    def test_nan_is_named(self):
        values = [0.5] * (self.ROWS * self.FEATURES)
        values[42 * self.FEATURES + 3] = float("nan")
        self.write_x(values)
        self.refuses(4, "42", "nan")

    def test_one_class_is_said(self):
        self.write("rows.csv", "a,b,y\n" + "1,2,yes\n2,1,yes\n" * 20)
        self.edit("train: {x: x.npy, y: y.npy}", "train: rows.csv, label: y")
        self.assertIn('the label y is "yes" in every row', self.says("fit", "run.yaml"))

    def test_files_in_each_others_place(self):
        self.refuses(2, "it is a run file, no data", words=("check", "run.yaml"))
        self.passes("fit", "run.yaml")
        self.write("rows.csv", "a,b,y\n1,2,yes\n")
        self.refuses(2, "the model was not trained on a table", words=("predict", "run.yaml", "data=rows.csv", "--output", "o.csv"))

    def test_data_in_the_place_of_a_run_file(self):
        self.write("rows.npy", npy((3,), [1, 2, 3]))
        self.write("large.bin", b"\x01\x02" * (1 << 20))
        self.write("text.bin", b"a\0b")
        for name in ("rows.npy", "large.bin", "text.bin"):
            for command in ("fit", "plan", "summary", "evaluate"):
                line = self.refuses(2, f"{name}: this is no run file", "data: {train: {x: x.npy, y: y.npy}}",
                                    f"snug check {name}", words=(command, name))
                self.assertTrue(line.isprintable())

    def test_mistakes_about_files(self):
        self.edit("train: {x: x.npy, y: y.npy}", "train: rows.csv, label: income")
        self.refuses(6, "run.yaml:1: ", "rows.csv")
        self.edit("train: {x: x.npy, y: y.npy}", "train: {x: x.npy, y: y.npy}, label: income")
        self.refuses(2, "run.yaml:1: ", "label is for CSV files")
        self.edit("train: {x: x.npy, y: y.npy}", "train: {x: x.npy}")
        self.refuses(2, "run.yaml:1: ", "data.train has no y")
        self.edit("train: {x: x.npy, y: y.npy}", "train: {x: x.npy, labels: y.npy}")
        self.refuses(2, "run.yaml:1: ", "{x: x.npy, y: y.npy}", "IDX")
        self.edit("train:", "trian:")
        self.refuses(2, "run.yaml:1: ", "did you mean train?")

    def test_paths_that_lead_nowhere_are_no_fault_of_ours(self):
        (self.folder / "loop").symlink_to("loop")
        self.refuses(6, "loop", words=("check", "loop"))
        self.refuses(6, "loop", words=("evaluate", "run.yaml", "--runs", "loop"))

    def test_names_that_are_no_utf_8(self):
        name = "caf\udce9"
        self.assertEqual(self.fits("--runs", name)["directory"], "caf\ufffd/run/1")
        model = f"{name}/run/1/last.keras"
        self.assertEqual(self.json("evaluate", "run.yaml", "--runs", name)["exit"], 0)
        self.assertEqual(self.json("convert", model, name + ".h5")["output"], "caf\ufffd.h5")


if __name__ == "__main__":
    snug_case.main()
