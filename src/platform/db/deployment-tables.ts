/** The tables of deployments, their domains and alias requests, and of uploaded files. docs/deployments.md. */
import type { Generated } from 'kysely'

export const READY_STATES = ['QUEUED', 'INITIALIZING', 'BUILDING', 'READY', 'ERROR', 'CANCELED'] as const
export type ReadyState = (typeof READY_STATES)[number]
type MappingStatus = 'pending' | 'in-progress' | 'completed' | 'failed'

export type DeploymentTables = {
  /** A deployment of a project. */
  deployment: {
    id: string
    /** The account of its project; a transfer updates it. */
    account_id: string
    project_id: string
    name: string
    /** Its permanent host name, in lower case. */
    url: string
    target: 'production' | 'preview'
    ready_state: ReadyState
    git_branch: string | null
    /** A deployment of a custom environment is a preview, and keeps the id after the environment is deleted. */
    custom_environment_id: string | null
    meta_json: string
    /** The origin of its traffic, for the edge. */
    upstream: string | null
    /** The served output of one with files; null: none, or not READY yet. */
    output_id: number | null
    /** The source of one that is built here: an output row whose manifest lists the source; null: none. */
    source_id: number | null
    /** The variables of its build and its functions. Null: one of an earlier version, or without files. */
    env_id: number | null
    /** Why it failed: a code of `BUILD_ERRORS`, and a sentence. Of a canceled one the sentence alone. */
    error_code: string | null
    error_message: string | null
    /** The plan of the account at registration. */
    plan: 'hobby' | 'pro' | 'enterprise'
    created_stamp: number
    building_at: number | null
    ready_at: number | null
    /** When it reached ERROR or CANCELED. */
    failed_at: number | null
    /** When it last became the production deployment; null: never. */
    promoted_at: number | null
  }
  /** Variables of deployments, as their creates found them. Deployments of equal variables share a row. delivery/builds/frozen-variables.ts. */
  frozen_env: {
    id: Generated<number>
    /** The account whose files it counts with. A transfer leaves it. */
    account_id: string
    project_id: string
    /** A hash of the rows and versions of the variables, or the id of the only deployment. */
    content: string
    /** Variables of the project, their values sealed (`FrozenVariable`). Null: of an earlier version, which reads the present ones. */
    variables_json: string | null
    /** Variables that came with the create, sealed as JSON; null: none. */
    sealed_env: string | null
    /** 1, of the project at the create: it exposed no system variables, and it had skew protection. */
    hides_system: Generated<number>
    skew_protection: Generated<number>
    /** What it counts in `file_usage`. */
    bytes: number
    /** How many deployments have it; it goes with the last. */
    refs: number
  }
  /** One row per field of a deployment's meta, for list filters. projects/deployments/meta.ts. */
  deployment_meta: { project_id: string; mark: string; deployment_id: string }
  /** Hourly visitor responses of a deployment, and the bytes of their bodies, as sites servers reported them. Retained for 30 days. projects/deployments/usage.ts. */
  deployment_usage: {
    deployment_id: string
    /** Its start: a whole hour of UTC. */
    hour: number
    /** Requests whose visitor disconnected before the response have no status. */
    requests: number
    status_2xx: number
    /** Includes 304. */
    status_3xx: number
    status_4xx: number
    status_5xx: number
    bytes: number
  }
  /** Log lines of functions of a deployment, in pieces. Kept for 3 days, and 32 MiB of an account. delivery/logs/store-lines.ts. */
  runtime_log: {
    id: Generated<number>
    account_id: string
    project_id: string
    deployment_id: string
    /** Times of the first and the last line. */
    first_at: number
    last_at: number
    lines: number
    bytes: number
    /** A line of JSON for each (`KeptLine`). */
    text: string
  }
  /** A cron job of the production deployment of a project. */
  cron_job: {
    project_id: string
    place: number
    deployment_id: string
    path: string
    /** Five fields, in UTC. */
    schedule: string
    /** The next time that is due. The request that moves it runs the job. */
    next_at: number
  }
  /** A run of a cron job. The last of each project are kept. */
  cron_run: {
    id: string
    project_id: string
    deployment_id: string
    path: string
    schedule: string
    /** The time of the schedule. */
    due_at: number
    began_at: number
    /** Null: it runs, or its result was lost. */
    ended_at: number | null
    /** Of the response; null: none came. */
    status: number | null
    /** Why it did not run, or has no response. */
    fault: string | null
  }
  /** The last report of usage, data caches or log lines of a sites server, so that a repeated report counts once. */
  usage_report: { server: string; sequence: number; expires_at: number }
  /** The deployment that a verified domain or a generated address serves. Redirects have no row. */
  alias: {
    /** Only the verified owner of a name has a row, so a name is here once. */
    name: string
    /** What a generated address serves: `production`, or `branch ` and the git branch. Null: the name is a domain. */
    address_of: string | null
    account_id: string
    project_id: string
    deployment_id: string
    target: 'production' | 'preview'
    /** Of the domain, or of the generated address. Unique in its account: the sort key of lists. */
    created_stamp: number
    updated_at: number
  }
  /** A promotion or rollback. Only the last of each kind is stored per project. */
  alias_request: {
    id: string
    project_id: string
    type: 'promote' | 'rollback'
    from_deployment_id: string | null
    to_deployment_id: string
    status: 'pending' | 'in-progress' | 'succeeded' | 'failed' | 'skipped'
    requested_stamp: number
    /** Open requests advance in the order of this stamp. */
    advanced_stamp: number
    finished_at: number | null
  }
  /** One production domain of a request. `place` is the sort key and cursor. */
  alias_mapping: { request_id: string; place: number; name: string; status: MappingStatus }
}

/** The bytes are in the file store: docs/deploying-sites.md: Files. */
export type FileTables = {
  /** A file of an account, deduplicated by content. Its bytes are in the file store. */
  blob: {
    id: Generated<number>
    account_id: string
    /** In hexadecimal, as in the file store. */
    sha256: string
    size: number
    /** How many outputs, deployment sources and chunks of build logs use it. */
    refs: Generated<number>
    /** Since when it is unused and will be deleted; null: in use. A new upload resets it. */
    condemned_at: number | null
  }
  /** The SHA-1 of a file, which names it on the wire. */
  upload: {
    account_id: string
    sha1: string
    blob_id: number
    /** The last upload or request. */
    touched_at: number
  }
  /** The result of a build, as visitors see it, or the source of one. Equal ones of an account share a row. */
  output: {
    id: Generated<number>
    account_id: string
    /** Hash of the routing manifest and function files, in hexadecimal; identifies equal outputs. Of a source `source` and the hash of its list. */
    sha256: string
    /** The blob with the routing manifest as JSON. */
    manifest_id: number
    /** How many deployments serve it, or are built from it. */
    refs: Generated<number>
    /** Its cron jobs: path and schedule of each; null: none. */
    crons_json: string | null
  }
  /** A file of an output, including its manifest. Each row counts in the `refs` of the file. */
  output_blob: { output_id: number; blob_id: number }
  /** The file storage that an account uses, so that a budget check reads one row. delivery/uploads/usage.ts. */
  file_usage: { account_id: string; bytes: number }
}

/** The tables of builds. They raise no change stamps: a beat each five seconds empties no cache. docs/building.md. */
export type BuildTables = {
  /** The build of a deployment from source: its place in the queue, and its lease. It goes with the deployment. */
  build: {
    deployment_id: string
    /** The account whose files the source and the output are, and whose turn it is. A transfer leaves it. */
    account_id: string
    /** The user who owned the account at the create: turns and waiting builds are counted by owner too. A team without one owns itself. */
    owner_id: string
    project_id: string
    state: 'waiting' | 'leased' | 'ended'
    is_production: number
    /** 0: production stays where it is when the build succeeds. */
    takes_domains: number
    git_branch: string | null
    /** Leases so far. A lease and its token are of one attempt. */
    attempt: Generated<number>
    /** The random name of the process that has the lease, or had the last one. */
    runner: string | null
    token_hash: string | null
    lease_until: number | null
    queued_at: number
    /** Of the last attempt. */
    started_at: number | null
    ended_at: number | null
    /** Settings of the project at the create (`BuildSettings`). */
    settings_json: string
    /** 1: the deployment has ended already, and the next beat says so to the runner. */
    cancel_requested: Generated<number>
    /** Lines of this attempt that the runner need not send again. */
    log_acknowledged: Generated<number>
    /** Stored lines of all attempts: the serial of the next one. */
    log_lines: Generated<number>
    /** Bytes of stored text. */
    log_bytes: Generated<number>
    /** Time of the last stored line. */
    log_date: Generated<number>
  }
  /** A chunk of a build log: lines as compressed JSON in a file, which counts it in its `refs`. */
  build_log: { deployment_id: string; first_serial: number; lines: number; last_date: number; blob_id: number }
  /** A process that asked for builds, as it named itself. It goes a day after its last request. */
  runner: {
    /** The random name of the process. */
    name: string
    hostname: string
    version: string
    first_seen_at: number
    /** Of its requests for a build; written at most every 10 s. Beats show in `build.lease_until`. */
    last_seen_at: number
    /** It gets no build until the operator resumes it. */
    drained_at: number | null
    removed_at: number | null
  }
}
