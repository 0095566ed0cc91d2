prompt nested with &1 and &2
