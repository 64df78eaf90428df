// Questions in plain words, with the operations that answer them, in three sets. "tuned" and "held out" were written
// before the search was; while it was worked on, only what "tuned" missed was looked at, later also the questions about
// two more documents. The same person wrote the questions and the search's table of synonyms, though. So there is a third
// set, "afterwards", written when the search was finished; nothing was changed for it.
//
// Each line is a question and the operations that answer it; one of them has to be found. `*` stands for any letters:
// Kubernetes has one operation in several versions.

import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { realDocuments } from "../../openapi/support/documents.mjs";

/** The APIs that are asked about, and the documents of these. */
const DOCUMENTS = {
  github: "@octokit/openapi api.github.com.json",
  kubernetes: "kubernetes-client",
  figma: "@figma/rest-api-spec",
  gitbook: "@gitbook/api openapi.json",
  netlify: "@netlify/open-api",
};
export const APIS = Object.keys(DOCUMENTS);

/** A registry with all operations of an API. */
export function registryOf(api) {
  const document = realDocuments.find(({ name }) => name === DOCUMENTS[api]);
  const registry = new OperationRegistry();
  registry.registerAll(FromOpenAPI(document.text(), { namespace: api, baseUrl: "http://localhost" }));
  return registry;
}

const GITHUB = `
open a new bug report in a repository | issues/create
show me the open issues of a repo | issues/list-for-repo
close an issue | issues/update
leave a comment on an issue | issues/create-comment
who can I assign this issue to | issues/list-assignees issues/check-user-can-be-assigned
add someone as assignee | issues/add-assignees
put a label on an issue | issues/add-labels issues/set-labels
make a new label for the repository | issues/create-label
lock the conversation on an issue | issues/lock
open a pull request | pulls/create
merge a pull request | pulls/merge
which files were changed in a pull request | pulls/list-files
ask a colleague to review my pull request | pulls/request-reviewers
approve a pull request | pulls/create-review pulls/submit-review
has this pull request been merged already | pulls/check-if-merged
what is in the readme | repos/get-readme
read a file from a repository | repos/get-content
change a file and commit it | repos/create-or-update-file-contents
delete a file from the repository | repos/delete-file
compare two branches | repos/compare-commits repos/compare-commits-with-basehead
list all branches | repos/list-branches
rename a branch | repos/rename-branch
protect the main branch | repos/update-branch-protection
publish a release | repos/create-release
get the newest release | repos/get-latest-release
attach a binary to a release | repos/upload-release-asset
fork a repository | repos/create-fork
create a repository for my organization | repos/create-in-org
delete a repo | repos/delete
star a repository | activity/star-repo-for-authenticated-user
which repositories have I starred | activity/list-repos-starred-by-authenticated-user
rerun the failed jobs of a workflow | actions/re-run-workflow-failed-jobs
start a workflow by hand | actions/create-workflow-dispatch
download the logs of a workflow run | actions/download-workflow-run-logs
cancel a running workflow | actions/cancel-workflow-run actions/force-cancel-workflow-run
store a secret for actions in a repository | actions/create-or-update-repo-secret
search for code that mentions a function | search/code
find people on GitHub | search/users
who am I logged in as | users/get-authenticated
follow another user | users/follow
invite somebody to the organization | orgs/create-invitation
remove a person from the organization | orgs/remove-member orgs/remove-membership-for-user
add a member to a team | teams/add-or-update-membership-for-user-in-org teams/add-member-legacy teams/add-or-update-membership-for-user-legacy
add a collaborator to a repository | repos/add-collaborator
register a webhook for push events | repos/create-webhook
mark all notifications as read | activity/mark-notifications-as-read
share a snippet of text as a gist | gists/create
how many API requests do I have left | rate-limit/get
turn markdown into html | markdown/render markdown/render-raw
dependabot alerts of a repository | dependabot/list-alerts-for-repo
create a tag object | git/create-tag
which languages is the project written in | repos/list-languages
who contributed to the repository | repos/list-contributors
upload code scanning results | code-scanning/upload-sarif
`;

const KUBERNETES = `
list the pods in a namespace | listCoreV1NamespacedPod
start a pod | createCoreV1NamespacedPod
show the logs of a pod | readCoreV1NamespacedPodLog
run a command inside a container | connectCoreV1PostNamespacedPodExec connectCoreV1GetNamespacedPodExec
delete a pod | deleteCoreV1NamespacedPod
evict a pod from its node | createCoreV1NamespacedPodEviction
forward a port of a pod | connectCoreV1PostNamespacedPodPortforward connectCoreV1GetNamespacedPodPortforward
how many replicas does the deployment have | read*NamespacedDeploymentScale read*NamespacedDeployment read*NamespacedDeploymentStatus
scale a deployment | patch*NamespacedDeploymentScale replace*NamespacedDeploymentScale
create a deployment | create*NamespacedDeployment
roll back a deployment | create*NamespacedDeploymentRollback
list deployments in all namespaces | list*DeploymentForAllNamespaces
make a new namespace | createCoreV1Namespace
remove a namespace | deleteCoreV1Namespace
read a config map | readCoreV1NamespacedConfigMap
change a few fields of a config map | patchCoreV1NamespacedConfigMap
store a secret | createCoreV1NamespacedSecret
list the secrets of a namespace | listCoreV1NamespacedSecret
which nodes are in the cluster | listCoreV1Node
update the labels of a node | patchCoreV1Node replaceCoreV1Node
create a cron job | create*NamespacedCronJob
list jobs | list*NamespacedJob list*JobForAllNamespaces
expose an app with a service | createCoreV1NamespacedService
add an ingress | create*NamespacedIngress
watch events of all namespaces | watchCoreV1EventListForAllNamespaces watchEvents*EventListForAllNamespaces listCoreV1EventForAllNamespaces listEvents*EventForAllNamespaces
claim storage for a pod | createCoreV1NamespacedPersistentVolumeClaim
list persistent volumes | listCoreV1PersistentVolume
give a user a role in a namespace | create*NamespacedRoleBinding
may I do this: check my own permissions | createAuthorization*SelfSubjectAccessReview createAuthorization*SelfSubjectRulesReview
approve a certificate signing request | replace*CertificateSigningRequestApproval
create a horizontal pod autoscaler | create*NamespacedHorizontalPodAutoscaler
define a custom resource | create*CustomResourceDefinition
`;

const FIGMA = `
get the contents of a design file | getFile
render a frame as png | getImages
who commented on the file | getComments
write a comment in a file | postComment
remove my comment | deleteComment
react to a comment with an emoji | postCommentReaction
what versions does the file have | getFileVersions
which projects does the team have | getTeamProjects
list the files in a project | getProjectFiles
my own user account | getMe
published components of a team library | getTeamComponents
details of a style | getStyle
subscribe to changes with a webhook | postWebhook
delete a webhook | deleteWebhook
was the webhook delivered | getWebhookRequests
design variables of a file, local ones | getLocalVariables
create or change variables in bulk | postVariables
link a dev resource to a node | postDevResources
has somebody paid for my plugin | getPayments
audit trail of what people in the organization did | getActivityLogs
how often are library components used | getLibraryAnalyticsComponentUsages
download the image fills | getImageFills
`;

const NETLIFY = `
put a new version of the website online | createSiteDeploy createSiteBuild
go back to the previous deploy | rollbackSiteDeploy restoreSiteDeploy
stop a deploy that is under way | cancelSiteDeploy
clear the CDN cache of a site | purgeCache
set an environment variable | createEnvVars setEnvVarValue updateEnvVar
what did people send through the contact form | listSiteSubmissions listFormSubmissions listFormSubmission
add a DNS record to a zone | createDnsRecord
get an ssl certificate for my domain | provisionSiteTLSCertificate showSiteTLSCertificate getAllCertificates
invite a teammate to the account | addMemberToAccount
who changed what in the account, the audit log | listAccountAuditEvents
url that triggers a build when it is posted to | createSiteBuildHook
take a site offline | disableSite
run an A/B test between two branches | createSplitTest
take a backup of the database | createSiteDatabaseSnapshot
who is the current user | getCurrentUser
`;

const GITBOOK = `
make a new space for documentation | createSpace
copy a space | duplicateSpace
list the pages of a space | listPages
search in the documentation of a site | searchSiteContent
propose changes to the docs | createChangeRequest
merge the proposed changes | mergeChangeRequest
ask people to review a change request | requestReviewersForChangeRequest
reply to a comment on a space | postCommentReplyInSpace
export a space as pdf | getSpacePDF
bring in content from a git repository | importGitRepository
remove someone from the organization | removeMemberFromOrganizationById
set up single sign on with saml | createOrganizationSAMLProvider
redirect an old url to a new page | createSiteRedirect bulkUpsertSiteRedirects
make the site public | publishSite
upload an OpenAPI specification | createOpenAPISpec createOrUpdateOpenAPISpecBySlug
`;

const AFTERWARDS = {
  github: `
reopen a milestone with another due date | issues/update-milestone
which teams can see this repository | repos/list-teams
transfer the repository to another owner | repos/transfer
set the topics of a repository | repos/replace-all-topics
see how often the repository was cloned | repos/get-clones
report the status of a build on a commit | repos/create-commit-status checks/create
write a reply to a review comment | pulls/create-reply-for-review-comment
who starred this project | activity/list-stargazers-for-repo
download the repository as a zip | repos/download-zipball-archive
add an ssh key to my account | users/create-public-ssh-key-for-authenticated-user
stop following someone | users/unfollow
block a user from the organization | orgs/block-user
turn on vulnerability alerts | repos/enable-vulnerability-alerts
react to an issue with thumbs up | reactions/create-for-issue
pages build status | repos/get-latest-pages-build repos/list-pages-builds repos/get-pages-build
`,
  kubernetes: `
which daemon sets are running | list*NamespacedDaemonSet list*DaemonSetForAllNamespaces
remove a service | deleteCoreV1NamespacedService
change the image of a stateful set | patch*NamespacedStatefulSet replace*NamespacedStatefulSet
limit how much a namespace may use | createCoreV1NamespacedResourceQuota createCoreV1NamespacedLimitRange
delete all jobs of a namespace | delete*CollectionNamespacedJob
forbid traffic between pods with a network policy | create*NamespacedNetworkPolicy
list storage classes | list*StorageClass
cluster-wide admin role for a group | create*ClusterRoleBinding create*ClusterRole
`,
  figma: `
all styles of a file | getFileStyles
change where a webhook sends to | putWebhook
remove a link to code from a design | deleteDevResource
when was the file last edited and by whom | getFileMeta getFileVersions
`,
  netlify: `
lock the published deploy | lockDeploy
upload a file of a deploy | uploadDeployFile
delete a form submission | deleteSubmission
`,
  gitbook: `
undelete a space | restoreSpace
translate the docs into another language | createTranslation runTranslation
let a team edit a collection | updateTeamPermissionInCollection inviteToCollection
`,
};

function questionsOf(api, text, set) {
  return text
    .trim()
    .split("\n")
    .map((line, index) => {
      const [question, answers] = line.split(" | ");
      return {
        api,
        question,
        answers: answers.split(" "),
        set: set ?? (index % 2 === 1 ? "held out" : "tuned"),
      };
    });
}

/** Names as they are compared: the import writes some letters differently. */
const plain = (name) => name.replace(/[^\p{L}\p{N}*]/gu, "").toLowerCase();

export const QUESTIONS = [
  ...questionsOf("github", GITHUB),
  ...questionsOf("kubernetes", KUBERNETES),
  ...questionsOf("figma", FIGMA),
  ...questionsOf("netlify", NETLIFY, "tuned"),
  ...questionsOf("gitbook", GITBOOK, "tuned"),
  ...Object.entries(AFTERWARDS).flatMap(([api, text]) => questionsOf(api, text, "afterwards")),
];

/** Whether an operation is one of those that answer a question. */
export function answers({ answers: expected }, name) {
  const given = plain(name);
  return expected.some((each) => new RegExp(`^${plain(each).replaceAll("*", "\\w*")}$`).test(given));
}
