/** Other end of the bare round trip. */
process.on("message", (message) => process.send?.(message));
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
