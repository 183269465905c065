/** Whether tests have the time of a night (docs: CONTRIBUTING.md). */
export const IS_NIGHTLY = process.env["SEALIFT_TEST_NIGHTLY"] === "1";

/** Returns how many random cases or rounds a test plays: some at each change, many at night. */
export const rounds = (usual: number, nightly: number): number => (IS_NIGHTLY ? nightly : usual);
