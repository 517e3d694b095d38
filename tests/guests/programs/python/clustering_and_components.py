import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.datasets import make_blobs, load_digits
X, labels = make_blobs(n_samples=90, centers=3, cluster_std=0.5, random_state=7)
km = KMeans(n_clusters=3, n_init=10, random_state=0).fit(X)
print(sorted(np.bincount(km.labels_).tolist()), np.round(np.sort(km.cluster_centers_[:, 0]), 2))
digits = load_digits()
pca = PCA(n_components=2).fit(digits.data)
print(digits.data.shape, pca.explained_variance_ratio_.round(4))
