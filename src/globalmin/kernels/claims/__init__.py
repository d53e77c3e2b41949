"""The claim about limiting Gram matrices."""
