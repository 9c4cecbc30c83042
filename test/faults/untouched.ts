/** The service as it is, but for files that a create names without touching them: a collection must then take them away. */
import { startBroken } from './broken-source.ts'

await startBroken(
  'delivery/uploads/missing.ts',
  '.set({ touched_at: now })',
  ".set((eb) => ({ touched_at: eb.ref('touched_at') }))",
)
