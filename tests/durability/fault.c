/* Intercepts the file operations of a process. Only tests load it (with LD_PRELOAD), so the product contains no crash code.

   It counts the changes below one directory: writes, truncations, syncs, renames, links, removals, new directories. At the
   N-th change the process dies with half of that write done; or this change and all later ones fail, as on a full or broken
   disk. It sees the writes of Python, SQLite and tantivy. */
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
static int error_number; /* an errno; 0 means death */
static atomic_long seen;

/* Start to count changes below a directory. The fault happens at the `at`-th change; 0 means never. */
void fault_arm(const char *directory, long at, int error) {
    strncpy(root, directory, sizeof root - 1);
    fault_at = at;
    error_number = error;
    atomic_store(&seen, 0);
    root_length = strlen(root);
}

void fault_disarm(void) { root_length = 0; }

long fault_count(void) { return atomic_load(&seen); }

static int is_ours(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int path_of(int handle, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return 1;
}

/* Counts a change. Returns what to do: 0 continue, 1 die, 2 fail. */
static int count_change(void) {
    long number = atomic_fetch_add(&seen, 1) + 1;
    if (!fault_at || number < fault_at)
        return 0;
    if (error_number) {
        errno = error_number;
        return 2;
    }
    return 1;
}

static int check_handle(int handle) {
    char path[4096];
    return root_length && path_of(handle, path, sizeof path) && is_ours(path) ? count_change() : 0;
}

static int check_path(int folder, const char *name) {
    char path[4096];
    if (!root_length)
        return 0;
    if (name[0] == '/')
        return is_ours(name) ? count_change() : 0;
    if (folder == AT_FDCWD)
        return getcwd(path, sizeof path) && is_ours(path) ? count_change() : 0;
    return check_handle(folder);
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PLAIN(result, name, verdict, parameters, arguments) \
    result name parameters { int found = verdict; if (found == 1) die(); if (found == 2) return -1; return NEXT(name) arguments; }
#define WRITING(name, parameters, whole, half) \
    ssize_t name parameters { \
        int found = check_handle(handle); \
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
PLAIN(int, ftruncate, check_handle(handle), (int handle, off_t size), (handle, size))
PLAIN(int, ftruncate64, check_handle(handle), (int handle, off64_t size), (handle, size))
PLAIN(int, fsync, check_handle(handle), (int handle), (handle))
PLAIN(int, fdatasync, check_handle(handle), (int handle), (handle))
PLAIN(int, rename, check_path(AT_FDCWD, to), (const char *from, const char *to), (from, to))
PLAIN(int, renameat, check_path(folder, to), (int source, const char *from, int folder, const char *to), (source, from, folder, to))
PLAIN(int, linkat, check_path(folder, to), (int source, const char *from, int folder, const char *to, int flags),
      (source, from, folder, to, flags))
PLAIN(int, link, check_path(AT_FDCWD, to), (const char *from, const char *to), (from, to))
PLAIN(int, unlink, check_path(AT_FDCWD, name), (const char *name), (name))
PLAIN(int, unlinkat, check_path(folder, name), (int folder, const char *name, int flags), (folder, name, flags))
PLAIN(int, rmdir, check_path(AT_FDCWD, name), (const char *name), (name))
PLAIN(int, mkdir, check_path(AT_FDCWD, name), (const char *name, mode_t mode), (name, mode))
PLAIN(int, mkdirat, check_path(folder, name), (int folder, const char *name, mode_t mode), (folder, name, mode))
