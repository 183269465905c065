import { together } from "../support/together.ts";

together("test/lib/{contract,options,releases,sdk,support}/**/*.test.ts");
