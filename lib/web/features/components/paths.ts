export const componentsPath = "/components";
