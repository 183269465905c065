export const quotasPath = "/quotas";
