/** A program that a test kills: installs a tool into a directory, with the npm of its PATH. */
import { pino } from 'pino'
import { DEFAULT_BUILDER } from '../../src/platform/settings/builds.ts'
import { openToolchain } from '../../src/runner/toolchain/toolchain.ts'

const log = pino({ level: 'silent' })
const toolchain = await openToolchain({ folder: process.argv[2]!, env: process.env, builder: DEFAULT_BUILDER, log })
await toolchain.install('builder', new AbortController().signal)
