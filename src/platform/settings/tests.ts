/** What only tests set. */
import { BooleanSetting, IntegerSetting, type Setting } from './types.ts'

export const FOR_TESTS = {
  BERTH_TEST_CLOCK: {
    group: 'Running',
    kind: BooleanSetting(['0', '1'], '1'),
    default: '0',
    description: 'With `1` the operator API may say what time it is for a sweep; for tests alone.',
  },
  BERTH_TEST_PATIENCE: {
    group: 'Running',
    kind: IntegerSetting(1, 100),
    default: '1',
    description:
      'Requests wait this many times as long for their turn, and for a connection, a lock or a statement of PostgreSQL; for tests alone, on machines that do much else.',
  },
} as const satisfies Record<string, Setting>
