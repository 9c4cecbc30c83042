/** The tables of deployments: what was built, which names lead to it, and the requests that remap them. docs/deployments.md. Below them those of files that accounts upload. */
import type { Generated } from 'kysely'

export const READY_STATES = ['QUEUED', 'INITIALIZING', 'BUILDING', 'READY', 'ERROR', 'CANCELED'] as const
export type ReadyState = (typeof READY_STATES)[number]
type MappingStatus = 'pending' | 'in-progress' | 'completed' | 'failed'

export type DeploymentTables = {
  /** Something that the build system built of a project, and what became of it. */
  deployment: {
    id: string
    /** Those of its project: a transfer moves it along. */
    account_id: string
    project_id: string
    name: string
    /** Its own host name, in lower case: where it is always found. */
    url: string
    target: 'production' | 'preview'
    ready_state: ReadyState
    git_branch: string | null
    /** One of a custom environment is a preview, and keeps the id when the environment is removed. */
    custom_environment_id: string | null
    meta_json: string
    /** The origin where the edge sends its visitors. */
    upstream: string | null
    /** What visitors see of one with files; null: it has none, or is not READY yet. */
    output_id: number | null
    /** The plan of the account when it was registered. */
    plan: 'hobby' | 'pro' | 'enterprise'
    created_stamp: number
    building_at: number | null
    ready_at: number | null
    /** When it ended in ERROR or CANCELED. */
    failed_at: number | null
    /** When it last became the one that serves production; null: never. */
    promoted_at: number | null
  }
  /** One row for each field of a deployment's meta: what lists are filtered by. projects/deployments/meta.ts. */
  deployment_meta: { project_id: string; mark: string; deployment_id: string }
  /** What a deployment answered to its visitors in an hour, as sites servers told it. Kept for 30 days. projects/deployments/usage.ts. */
  deployment_usage: {
    deployment_id: string
    /** When it began: a whole hour of UTC. */
    hour: number
    /** Those whose visitor left before an answer began have no status. */
    requests: number
    status_2xx: number
    /** 304 too. */
    status_3xx: number
    status_4xx: number
    status_5xx: number
    /** Of the bodies. */
    bytes: number
  }
  /** The last report of a sites server that is in the usage of deployments, so that one that comes again counts once. */
  usage_report: { server: string; sequence: number; expires_at: number }
  /** Where a verified domain leads, or an address that Berth gave. A redirect leads to no deployment and has no row. */
  alias: {
    /** The verified holder of a name is one, so a name is here once. */
    name: string
    /** Of an address that Berth gave what it shows: `production`, or `branch ` and the git branch. Null: the name is a domain. */
    address_of: string | null
    account_id: string
    project_id: string
    deployment_id: string
    target: 'production' | 'preview'
    /** The domain's own, or of when the address was given. Unique in its account: lists are walked by it. */
    created_stamp: number
    updated_at: number
  }
  /** A promote or rollback. Of each kind a project keeps the last. */
  alias_request: {
    id: string
    project_id: string
    type: 'promote' | 'rollback'
    from_deployment_id: string | null
    to_deployment_id: string
    status: 'pending' | 'in-progress' | 'succeeded' | 'failed' | 'skipped'
    requested_stamp: number
    /** Whose turn it is: of the open requests the one that waited longest. */
    advanced_stamp: number
    finished_at: number | null
  }
  /** One production domain of a request. `place` orders them and is their cursor. */
  alias_mapping: { request_id: string; place: number; name: string; status: MappingStatus }
}

/** The bytes are in the file store: docs/deploying-sites.md: Files. */
export type FileTables = {
  /** A file of an account, kept once by its content. Its bytes are in the file store. */
  blob: {
    id: Generated<number>
    account_id: string
    /** In hexadecimal, as the file store names it. */
    sha256: string
    /** In bytes. */
    size: number
    /** How many outputs and sources of deployments have it. */
    refs: Generated<number>
    /** Since when nothing uses it, so that it will be removed; null: it stays. An upload takes it back. */
    condemned_at: number | null
  }
  /** The name of a file on the wire: clients ask for files by SHA-1. */
  upload: {
    account_id: string
    sha1: string
    blob_id: number
    /** When it was last uploaded or asked for. */
    touched_at: number
  }
  /** What a builder wrote, as visitors see it. Equal ones of an account are one. */
  output: {
    id: Generated<number>
    account_id: string
    /** Of the routing manifest and the files of functions, in hexadecimal: what makes two outputs equal. */
    sha256: string
    /** The file (blob) that holds the routing manifest as JSON. */
    manifest_id: number
    /** How many deployments show it. */
    refs: Generated<number>
  }
  /** A file that an output has, its manifest among them. Each holds one `refs` of its file. */
  output_blob: { output_id: number; blob_id: number }
  /** How much room the files of an account take, so that its budget is asked of one row. delivery/uploads/usage.ts. */
  file_usage: { account_id: string; bytes: number }
}
