/**
 * How often what waits for rare luck is tried: a few times in `npm test`, often in `npm run verify`, which sets BERTH_TEST_ROUNDS=many,
 * and very often by hand with BERTH_TEST_ROUNDS=most. docs/testing.md.
 */
const ROUNDS = process.env.BERTH_TEST_ROUNDS
export const MANY = ROUNDS === 'many' || ROUNDS === 'most'

export function iterations(few: number, many: number, most = many): number {
  if (ROUNDS === 'most') return most
  return MANY ? many : few
}
