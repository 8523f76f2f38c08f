"""How good a support is: marginal likelihoods, and the priors and posteriors that go with them."""
