/** Tells whether the environment asks for traces. */
export const wantsTraces = (env: NodeJS.ProcessEnv): boolean =>
  (isSet(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) || isSet(env["OTEL_EXPORTER_OTLP_ENDPOINT"])) &&
  env["OTEL_SDK_DISABLED"]?.toLowerCase() !== "true" &&
  env["OTEL_TRACES_EXPORTER"] !== "none";

const isSet = (text: string | undefined): boolean => text !== undefined && text !== "";
