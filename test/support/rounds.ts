/**
 * How often what waits for rare luck is tried: a few times in `npm test`, often in `.ci/run`, which sets BERTH_TEST_ROUNDS=many.
 * docs/testing.md.
 */
export const MANY = process.env.BERTH_TEST_ROUNDS === 'many'

export function rounds(few: number, many: number): number {
  return MANY ? many : few
}
