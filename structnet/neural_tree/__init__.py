"""Adaptive neural trees (Tanno et al., Adaptive Neural Trees, ICML 2019)."""
