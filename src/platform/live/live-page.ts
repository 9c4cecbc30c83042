/** An open page: its session, user, account and project. */
export type LivePage = { sessionHash: string; userId: string; accountId: string; projectId: string | undefined }
