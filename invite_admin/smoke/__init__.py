"""Tries whether ten to twenty people can redeem at the same moment, and judges it."""
