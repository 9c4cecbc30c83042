/** What a line of the audit log is about. */

/** The parameters of the path. */
type Asked = { params: Readonly<Record<string, string>> }

/** Returns the target id for the audit log. */
export function subjectId(touched: unknown, input: Asked): string | null {
  return (touched as { id?: string } | undefined)?.id ?? Object.values(input.params)[0] ?? idsOf(touched)
}

type OfProject = { id?: unknown; project_id?: unknown; projectId?: unknown; project?: { id?: unknown } | null }

/** Returns the project that a request was about: the first one that is, holds or is in what was found. */
export function projectIdOf(...found: readonly unknown[]): string | null {
  const ids = found.flatMap((one) => {
    const { id, project_id, projectId, project } = (one ?? {}) as OfProject
    return [project?.id, project_id, projectId, id]
  })
  return ids.find((id): id is string => typeof id === 'string' && id.startsWith('prj_')) ?? null
}

/** The ids of the items in a list response, comma-separated. */
function idsOf(touched: unknown): string | null {
  const { created, updated, deleted } = (touched ?? {}) as Record<string, (string | { id: string })[] | undefined>
  const listed = created ?? updated ?? deleted
  return Array.isArray(listed) ? listed.map((item) => (typeof item === 'string' ? item : item.id)).join(',') : null
}
