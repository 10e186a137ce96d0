/* Stands between a process and its files. Loaded before the C library by tests alone, so that the product carries no crash code.

   Counts what changes something below one directory: writes, truncations, syncs, renames, links, removals, new directories.
   At the N-th of them the process dies, with half of that write done; or it is refused from there on, as a full or broken disk
   would refuse it. Whoever wrote it does not matter: Python, SQLite and the index of words all pass here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[4096];
static size_t root_length;
static long fault_at;
static int refusal; /* an errno; 0 means death */
static atomic_long seen;

/* Begin to count below a directory. At the `at`-th change comes the fault; 0 means never. */
void fault_arm(const char *directory, long at, int error) {
    strncpy(root, directory, sizeof root - 1);
    fault_at = at;
    refusal = error;
    atomic_store(&seen, 0);
    root_length = strlen(root);
}

void fault_disarm(void) { root_length = 0; }

long fault_count(void) { return atomic_load(&seen); }

static int is_ours(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int place_of(int handle, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return 1;
}

/* What is to happen: 0 go on, 1 die, 2 refuse. */
static int count(void) {
    long number = atomic_fetch_add(&seen, 1) + 1;
    if (!fault_at || number < fault_at)
        return 0;
    if (refusal) {
        errno = refusal;
        return 2;
    }
    return 1;
}

static int judge(int handle) {
    char path[4096];
    return root_length && place_of(handle, path, sizeof path) && is_ours(path) ? count() : 0;
}

static int judge_at(int folder, const char *name) {
    char path[4096];
    if (!root_length)
        return 0;
    if (name[0] == '/')
        return is_ours(name) ? count() : 0;
    if (folder == AT_FDCWD)
        return getcwd(path, sizeof path) && is_ours(path) ? count() : 0;
    return judge(folder);
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PLAIN(result, name, verdict, parameters, arguments) \
    result name parameters { int found = verdict; if (found == 1) die(); if (found == 2) return -1; return NEXT(name) arguments; }
#define WRITING(name, parameters, whole, half) \
    ssize_t name parameters { \
        int found = judge(handle); \
        if (found == 1) { (void)!NEXT(name) half; die(); } \
        if (found == 2) return -1; \
        return NEXT(name) whole; \
    }

WRITING(write, (int handle, const void *data, size_t size), (handle, data, size), (handle, data, size / 2))
WRITING(pwrite, (int handle, const void *data, size_t size, off_t at), (handle, data, size, at), (handle, data, size / 2, at))
WRITING(pwrite64, (int handle, const void *data, size_t size, off64_t at), (handle, data, size, at), (handle, data, size / 2, at))
WRITING(writev, (int handle, const struct iovec *parts, int number), (handle, parts, number), (handle, parts, number / 2))
WRITING(sendfile, (int handle, int from, off_t *at, size_t size), (handle, from, at, size), (handle, from, at, size / 2))
WRITING(sendfile64, (int handle, int from, off64_t *at, size_t size), (handle, from, at, size), (handle, from, at, size / 2))
PLAIN(int, ftruncate, judge(handle), (int handle, off_t size), (handle, size))
PLAIN(int, ftruncate64, judge(handle), (int handle, off64_t size), (handle, size))
PLAIN(int, fsync, judge(handle), (int handle), (handle))
PLAIN(int, fdatasync, judge(handle), (int handle), (handle))
PLAIN(int, rename, judge_at(AT_FDCWD, to), (const char *from, const char *to), (from, to))
PLAIN(int, renameat, judge_at(folder, to), (int source, const char *from, int folder, const char *to), (source, from, folder, to))
PLAIN(int, linkat, judge_at(folder, to), (int source, const char *from, int folder, const char *to, int flags),
      (source, from, folder, to, flags))
PLAIN(int, link, judge_at(AT_FDCWD, to), (const char *from, const char *to), (from, to))
PLAIN(int, unlink, judge_at(AT_FDCWD, name), (const char *name), (name))
PLAIN(int, unlinkat, judge_at(folder, name), (int folder, const char *name, int flags), (folder, name, flags))
PLAIN(int, rmdir, judge_at(AT_FDCWD, name), (const char *name), (name))
PLAIN(int, mkdir, judge_at(AT_FDCWD, name), (const char *name, mode_t mode), (name, mode))
PLAIN(int, mkdirat, judge_at(folder, name), (int folder, const char *name, mode_t mode), (folder, name, mode))
