// Plays tables of answers over HTTP: an app's function returns row after row, and visitors get what each row says.
import { expect, it } from "vitest";
import { compareAnswer } from "./answer-table.ts";
import type { AnswerCase, WrongAnswerCase } from "./current-answers.ts";
import { problemOf } from "./problems.ts";
import type { ServedApp } from "./served-app.ts";

/** The function that serves "/answer/:number" returns the right rows first, then the wrong ones. */
export function itAnswers(served: ServedApp, { right, wrong }: { right: readonly AnswerCase[]; wrong: readonly WrongAnswerCase[] }): void {
  it.each(right.map((one, number) => [one.name, number, one] as const))("%s", async (_name, number, expected) => {
    const { got, wanted } = compareAnswer(await served.get(`/answer/${number}`), expected);
    expect(got).toEqual(wanted);
  });

  it.each(wrong.map((one, index) => [one.name, right.length + index, one] as const))(
    "502 for %s, and explains it outside production",
    async (_name, number, { code, words }) => {
      const onStaging = problemOf(await served.get(`/answer/${number}`));
      expect(onStaging).toMatchObject({ status: 502, code });
      for (const word of words) expect(onStaging.detail).toContain(word);
      expect(problemOf(await served.platform.get("production", `/answer/${number}`))).toEqual({ status: 502, code, detail: null });
    },
  );
}
