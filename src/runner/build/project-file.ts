/** `.vercel/project.json` and the words of the builder's command line. docs/runner.md: Project file. */
import type { Lease } from '../../delivery/protocol/runner-protocol.ts'
import type { NodeMajor } from '../toolchain/units.ts'

/** Returns the text of `.vercel/project.json`, as the builder reads it. Pure. */
export function projectFile({ project, settings }: Pick<Lease, 'project' | 'settings'>, major: NodeMajor): string {
  const { commandForIgnoringBuildStep: _, skipsCache: __, ...rest } = settings
  const file = {
    projectId: project.id,
    orgId: project.accountId,
    projectName: project.name,
    settings: { createdAt: 0, ...rest, nodeVersion: `${major}.x` },
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/** As the schema of the builder says. Longer commands are refused by it. */
const MAX_COMMAND = 256

/**
 * Returns the ignored build step: `ignoreCommand` of `vercel.json`, which replaces the one of the settings also where it is null. A file that is not
 * JSON has none: the builder reports the error. Pure.
 */
export function ignoredStepOf(vercelJson: string | undefined, settings: Lease['settings']): string | undefined {
  const own = settings.commandForIgnoringBuildStep
  let file: { ignoreCommand?: unknown } | null = null
  try {
    file = JSON.parse(vercelJson ?? '{}')
  } catch {}
  const { ignoreCommand = own } = typeof file === 'object' && file !== null ? file : {}
  if (typeof ignoreCommand !== 'string' || ignoreCommand.trim() === '') return undefined
  return ignoreCommand === own || ignoreCommand.length <= MAX_COMMAND ? ignoreCommand : undefined
}

/** Returns the words after the builder. Without a token it calls no API; with one, it asks who that is, and waits. Pure. */
export function buildArguments({ target, environment }: Pick<Lease, 'target' | 'environment'>): string[] {
  return ['build', '--yes', target === 'production' ? '--prod' : `--target=${environment ?? 'preview'}`]
}
