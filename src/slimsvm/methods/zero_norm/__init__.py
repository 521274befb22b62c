"""Zero-norm machines and feature selection (Huang et al.): SSVC_A, SSVC_B and SSVC_W."""
