"""The paper, reproduced: every table, figure and claim of Patel et al. (ICLR 2021) on any labelled logits.

`tables` and `figures` say what each label of the paper holds, `printed` what the paper prints there, `lab` runs the
protocol on a set of logits, and `claims` judges what the paper says in words. `infocal reproduce` is the door.
"""
