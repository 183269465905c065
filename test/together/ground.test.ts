import { together } from "../support/together.ts";

together("test/lib/{contract,models,options,releases,sdk,support}/**/*.test.ts");
