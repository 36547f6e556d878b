# A batch pipeline: train, find a fast model within the limits, predict many files, refuse files with too few certified rows.
#
#     svmfast --show-makefile >pipeline.mk
#     make -f pipeline.mk TRAIN=train.txt TEST=test.txt FILES="monday tuesday" OUT=out
#
# Every step is a target, so that a second run makes only files that are missing or older than their sources; -k
# continues with the other files when one is refused, -jN predicts N at a time. A file is refused, and make ends with
# an error, if fewer than CERTIFIED of its rows get a label that is provably the exact model's: the data have drifted
# from the model's training rows. Predict such a file with the exact model, and consider training again.
# For a regression say TOLERANCE=ERROR, in the unit of the values: a value counts as certified if it is provably within
# ERROR of the exact model's, and the exact model answers the other rows.

SVMFAST   ?= svmfast
TRAIN     ?= $(error say TRAIN=FILE, the labelled rows to train on)
TEST      ?= $(error say TEST=FILE, labelled rows to choose the model by and confirm it)
FILES     ?=
OUT       ?= out
# An existing model trained on TRAIN; without it one is trained, with svm-train's options.
MODEL     ?=
OPTIONS   ?= -c 1
# Regression: how far a value may be from the exact model's.
TOLERANCE ?=
# Of the labels; 0%: none may differ from the exact model's. Regression: of the spread of the values, and above 0%.
MAX_DIFF  ?= $(if $(TOLERANCE),3%,0.5%)
CERTIFIED ?= 50%
TIME      ?= 600

regression := $(if $(MODEL),$(shell head -n 20 '$(MODEL)' 2>/dev/null | grep -a -o _svr),$\
    $(findstring -s 3,$(OPTIONS))$(findstring -s 4,$(OPTIONS)))
ifneq ($(regression),)
ifeq ($(TOLERANCE),)
$(error say TOLERANCE=ERROR, how far a value of the regression may be from the exact model's)
endif
endif

exact := $(or $(MODEL),$(OUT)/exact.model)
fast  := $(OUT)/frontier/recommended
ending := $(if $(TOLERANCE),.values,.labels)

ifneq ($(words $(FILES)),$(words $(sort $(notdir $(FILES)))))
$(error two of FILES have the same name: their predictions would be one file)
endif

.PHONY: all
.DELETE_ON_ERROR:
all: $(addprefix $(OUT)/,$(addsuffix $(ending),$(notdir $(FILES))))

$(OUT):
	mkdir -p $@

ifeq ($(MODEL),)
$(exact): $(TRAIN) | $(OUT)
	$(SVMFAST) train -q $(OPTIONS) $< $@
endif

# Only approximate's models have a certificate. If the recommended classifier needs the exact model for some rows, it
# contains it; a regression is given it below.
$(fast): $(exact) $(TRAIN) $(TEST) | $(OUT)
	$(SVMFAST) frontier $(exact) --data $(TRAIN) --test $(TEST) --methods approximate \
	    --max-diff $(MAX_DIFF) --time-limit $(TIME) --overwrite -o $(@D) -q
	touch $@

# One rule for a file: check, then predict.
define predict
$(OUT)/$(notdir $(1))$(ending): $(1) $(fast)
	$(SVMFAST) bound-check $$< --model $(fast) --require-certified $(CERTIFIED)$(if $(TOLERANCE), --tolerance $(TOLERANCE)) -q
	$(SVMFAST) predict -q $$< $(fast) $$@$(if $(TOLERANCE), --exact $(exact) --tolerance $(TOLERANCE))
endef
$(foreach file,$(FILES),$(eval $(call predict,$(file))))
