/** The `.npmrc` of the user of a build. docs/runner.md: Environment. */

/**
 * Returns the text of `~/.npmrc`: the registry of the operator, then NPM_RC of the project, else the registry that NPM_TOKEN opens. A `.npmrc` of
 * the source comes before all of them. It names the token by its variable. Pure.
 */
export function npmSettings(env: Readonly<Record<string, string>>, registry: string | undefined): string {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: npm replaces it
  const token = env.NPM_TOKEN === undefined ? undefined : '//registry.npmjs.org/:_authToken=${NPM_TOKEN}'
  const lines = [registry === undefined ? undefined : `registry=${registry}`, env.NPM_RC ?? token]
  return lines.flatMap((line) => (line === undefined ? [] : `${line}\n`)).join('')
}
