// Preloaded into each Node.js process that a test starts while coverage is recorded: writes which functions of src ran, as V8 counts
// them, at its end and twice a second, since most of these processes end by SIGKILL. Plain JavaScript: a process of an old Node.js loads it too.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'

const folder = process.env.TEST_COVERAGE_CHILDREN
const sources = process.env.TEST_COVERAGE_SOURCES
const FLUSH_MS = 500

// One that a test has write its own is left alone: who takes the counts resets them for the other.
if (folder && sources && !process.env.NODE_V8_COVERAGE) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  let flushes = 0
  const flush = () =>
    session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      const scripts = error ? [] : coverage.result.filter(({ url }) => url.startsWith(sources))
      if (scripts.length === 0) return
      try {
        writeFileSync(join(folder, `${process.pid}-${flushes++}.json`), JSON.stringify(scripts))
      } catch {
        // The test file has ended, and its folder is gone.
      }
    })
  setInterval(flush, FLUSH_MS).unref()
  process.on('exit', flush)
}
